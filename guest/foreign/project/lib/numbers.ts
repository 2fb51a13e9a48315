// SPDX-License-Identifier: MIT
export const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);
export const mean = (values: number[]) => (values.length ? sum(values) / values.length : NaN);
export function format(value: number, digits = 2): string {
  const [whole, fraction] = value.toFixed(digits).split(".");
  return whole.replace(/\B(?=(\d{3})+(?!\d))/g, " ") + (fraction ? `.${fraction}` : "");
}
export const big = 2n ** 64n - 1n;
export const million = 1_000_000;
