// SPDX-License-Identifier: MIT
import legacy from "./legacy.cjs";

export enum Tide { Rising = "rising", Falling = "falling", Slack = "slack" }

function logged(_target: unknown, name: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value;
  descriptor.value = function (...args: unknown[]) {
    legacy.log(name, args);
    return original.apply(this, args);
  };
}

export class Berth {
  declare static brand: never;
  private static readonly all = [10, 25, 60, 120].map((limit, i) => new Berth(limit, `berth ${"ABCD"[i]}`));
  constructor(public readonly limit: number, public readonly label: string) {}

  static find(length: number): Berth | undefined {
    return this.all.find((berth) => berth.limit >= length);
  }

  @logged
  rename(label: string): Berth {
    return new Berth(this.limit, label);
  }
}

export function describe(tide: Tide): string {
  return tide satisfies string === Tide.Slack ? "slack water" : `tide ${tide}`;
}
