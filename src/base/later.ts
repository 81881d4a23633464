/**
 * A value that comes later, for one listener. It costs a fraction of a promise: the listener is an object that exists
 * anyway. It gets the value without another step of the event loop.
 *
 * 1. The listener gets the value or the error, once. A listener that comes afterwards gets it at once.
 * 2. There is one listener. `then` counts as one, so that a `Later` can be awaited like a promise.
 */
import type { Awaitable } from './json.ts';
import { isPromiseLike } from './when-ready.ts';

export interface Listener<Value> {
  onValue(value: Value): void;
  onError(error: unknown): void;
}

export class Later<Value> implements PromiseLike<Value> {
  #status: 'open' | 'came' | 'failed' = 'open';
  /** The value or the error. */
  #end: unknown;
  #listener: Listener<Value> | undefined;

  resolve(value: Awaitable<Value>): void {
    if (isPromiseLike(value))
      value.then(
        (came) => this.#settle('came', came),
        (error: unknown) => this.#settle('failed', error),
      );
    else this.#settle('came', value);
  }

  reject(error: unknown): void {
    this.#settle('failed', error);
  }

  tell(listener: Listener<Value>): void {
    if (this.#listener !== undefined) throw new TypeError('A value that comes later has one listener.');
    this.#listener = listener;
    if (this.#status !== 'open') this.#deliver(listener);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is awaited where no listener exists
  then<Next = Value, Instead = never>(
    onValue?: ((value: Value) => Awaitable<Next>) | null,
    onError?: ((error: unknown) => Awaitable<Instead>) | null,
  ): Promise<Next | Instead> {
    return new Promise<Value>((resolve, reject) => this.tell({ onValue: resolve, onError: reject })).then(
      onValue,
      onError,
    );
  }

  #settle(status: 'came' | 'failed', end: unknown): void {
    if (this.#status !== 'open') return;
    this.#status = status;
    this.#end = end;
    if (this.#listener !== undefined) this.#deliver(this.#listener);
  }

  #deliver(listener: Listener<Value>): void {
    if (this.#status === 'failed') listener.onError(this.#end);
    else listener.onValue(this.#end as Value); // the status says so
  }
}
