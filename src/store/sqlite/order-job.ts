/** A queued order with its caller. */
import type { WriteJob } from './write-job.ts';
import type { OrderAnswer, OrderPerformer, WriteOrder } from './write-order.ts';

export abstract class OrderJob<Order extends WriteOrder = WriteOrder> implements WriteJob {
  readonly order: Order;
  readonly #executor: OrderPerformer;
  #answer: OrderAnswer | undefined;

  constructor(order: Order, executor: OrderPerformer) {
    this.order = order;
    this.#executor = executor;
  }

  perform(): void {
    this.#answer = this.#executor.perform(this.order);
  }

  isKept(): boolean {
    return this.#executor.isKept(this.order, this.#answer);
  }

  resolve(): void {
    this.accept(this.#answer as OrderAnswer); // it was performed
  }

  /** Gives the caller the answer: of this thread, or of another one that has performed the order. */
  abstract accept(answer: OrderAnswer): void;

  abstract reject(error: unknown): void;
}

/** An order whose caller gets the whole answer. */
export class AskedJob extends OrderJob {
  readonly #resolve: (answer: OrderAnswer) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    order: WriteOrder,
    executor: OrderPerformer,
    resolve: (answer: OrderAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    super(order, executor);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  accept(answer: OrderAnswer): void {
    this.#resolve(answer);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }
}
