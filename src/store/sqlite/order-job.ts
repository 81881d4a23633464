/** A queued order with its caller. */
import type { WriteJob } from './write-job.ts';
import type { OrderAnswer, OrderPerformer, WriteOrder } from './write-order.ts';

export class OrderJob implements WriteJob {
  readonly order: WriteOrder;
  readonly #executor: OrderPerformer;
  readonly #resolve: (answer: OrderAnswer) => void;
  readonly reject: (error: unknown) => void;
  #answer: OrderAnswer | undefined;

  constructor(
    order: WriteOrder,
    executor: OrderPerformer,
    resolve: (answer: OrderAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.order = order;
    this.#executor = executor;
    this.#resolve = resolve;
    this.reject = reject;
  }

  perform(): void {
    this.#answer = this.#executor.perform(this.order);
  }

  isKept(): boolean {
    return this.#executor.isKept(this.order, this.#answer);
  }

  /** Answers with what another thread has done. */
  accept(answer: OrderAnswer): void {
    this.#answer = answer;
    this.resolve();
  }

  resolve(): void {
    this.#resolve(this.#answer as OrderAnswer); // it was performed, or another thread has answered
  }
}
