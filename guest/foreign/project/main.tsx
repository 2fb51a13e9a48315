// SPDX-License-Identifier: MIT
// A board of ships in a harbor: small, but it uses what a bundler has to understand.
import { h, Fragment, render } from "@lib/dom";
import { createStore, type Action } from "@lib/store";
import * as numbers from "@lib/numbers";
import { Berth, Tide, describe } from "@lib/harbor";
import ships from "./ships.json";
import "./styles/main.css";

const enum Column { Name, Length, Berth }
interface Row { name: string; length: number; berth?: Berth }

const store = createStore<Row[]>(ships, (rows, action: Action) => {
  switch (action.type) {
    case "sort":
      return [...rows].sort((a, b) => (action.column === Column.Length ? a.length - b.length : a.name.localeCompare(b.name)));
    case "moor":
      return rows.map((row) => (row.name === action.name ? { ...row, berth: Berth.find(row.length) } : row));
    default:
      return rows;
  }
});

function Table({ rows, tide }: { rows: Row[]; tide: Tide }) {
  const total = numbers.sum(rows.map((row) => row.length));
  return (
    <>
      <h1 class="title">Harbor, {describe(tide)}</h1>
      <table>
        {rows.map(({ name, length, berth }) => (
          <tr key={name} onclick={() => store.dispatch({ type: "moor", name })}>
            <td>{name}</td>
            <td>{numbers.format(length, 1)} m</td>
            <td>{berth?.label ?? "at sea"}</td>
          </tr>
        ))}
      </table>
      <p>{`${rows.length} ships, ${numbers.format(total)} meters`}</p>
    </>
  );
}

store.subscribe((rows) => render(<Table rows={rows} tide={Tide.Rising} />));
store.dispatch({ type: "sort", column: Column.Length });

export async function* history(days: number) {
  for (let day = 0; day < days; day++) {
    const { tideAt } = await import("./lib/tides");
    yield { day, height: tideAt(day * 24 ** 1) };
  }
}

label: for (const ship of ships) {
  for (const letter of ship.name) {
    if (letter === "x") continue label;
    if (letter === "q") break label;
  }
}
