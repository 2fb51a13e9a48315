// SPDX-License-Identifier: MIT
import { mean } from "./numbers";

const constituents = [
  { name: "M2", amplitude: 1.2, period: 12.4206 },
  { name: "S2", amplitude: 0.45, period: 12.0 },
  { name: "K1", amplitude: 0.3, period: 23.9345 },
  { name: "O1", amplitude: 0.2, period: 25.8193 },
] as const;

export const tideAt = (hour: number): number =>
  constituents.reduce((height, { amplitude, period }) => height + amplitude * Math.cos((2 * Math.PI * hour) / period), 0);

export default function daily(day: number): { high: number; low: number; mean: number } {
  const heights = Array.from({ length: 24 }, (_, hour) => tideAt(day * 24 + hour));
  return { high: Math.max(...heights), low: Math.min(...heights), mean: mean(heights) };
}
