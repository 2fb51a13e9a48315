// SPDX-License-Identifier: MIT
// A virtual tree that renders to text.
export type Child = Element | string | number | false | null | undefined | Child[];
export interface Element { tag: string | typeof Fragment; props: Record<string, unknown>; children: Child[] }
export const Fragment = Symbol("fragment");

export function h(tag: string | typeof Fragment | ((props: any) => Element), props: Record<string, unknown> | null, ...children: Child[]): Element {
  if (typeof tag === "function") return tag({ ...props, children });
  return { tag, props: props ?? {}, children };
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escape = (text: string) => text.replace(/[&<>"]/g, (c) => escapes[c]);

export function toText(child: Child): string {
  if (child === false || child == null) return "";
  if (Array.isArray(child)) return child.map(toText).join("");
  if (typeof child !== "object") return escape(String(child));
  const inner = child.children.map(toText).join("");
  if (child.tag === Fragment) return inner;
  const attributes = Object.entries(child.props)
    .filter(([name, value]) => !name.startsWith("on") && value !== false)
    .map(([name, value]) => ` ${name}="${escape(String(value))}"`)
    .join("");
  return `<${String(child.tag)}${attributes}>${inner}</${String(child.tag)}>`;
}

export function render(tree: Element, out: (text: string) => void = console.log): void {
  out(toText(tree));
}

export function unusedHydrate(): never {
  throw new Error("tree shaking should have removed this");
}
