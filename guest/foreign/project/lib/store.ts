// SPDX-License-Identifier: MIT
export interface Action { type: string; [key: string]: any }
export type Reducer<S> = (state: S, action: Action) => S;

class Store<S> {
  #state: S;
  #listeners = new Set<(state: S) => void>();
  static #count = 0;
  readonly id = ++Store.#count;

  constructor(initial: S, private readonly reduce: Reducer<S>) {
    this.#state = initial;
  }

  get state(): Readonly<S> {
    return this.#state;
  }

  dispatch(action: Action): void {
    const next = this.reduce(this.#state, action);
    if (Object.is(next, this.#state)) return;
    this.#state = next;
    this.#listeners.forEach((listener) => listener(next));
  }

  subscribe(listener: (state: S) => void): () => boolean {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export const createStore = <S,>(initial: S, reduce: Reducer<S>) => new Store(initial, reduce);
