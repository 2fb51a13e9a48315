// SPDX-License-Identifier: MIT
// Not a program: the bundler must say so and end with status 1.
import { missing } from "./lib/no-such-file";
export const value: number = missing(1;
