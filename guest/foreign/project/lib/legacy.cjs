// SPDX-License-Identifier: MIT
"use strict";
var entries = [];
exports.log = function (name, args) {
  entries.push(name + "(" + Array.prototype.join.call(args, ", ") + ")");
  if (entries.length > 0x10) entries.shift();
};
exports.entries = entries;
if (typeof module !== "undefined" && process.env.NODE_ENV !== "production") {
  module.exports.debug = true;
}
