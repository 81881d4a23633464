/** A queued append. Every call makes some, so its caller gets the result without further closures and objects. */
import type { AppendResult } from '../../ledger/journal.ts';
import type { ChangeWatch } from './change-watch.ts';
import { OrderJob } from './order-job.ts';
import type { AppendOrder, OrderAnswer, OrderPerformer } from './write-order.ts';

export class AppendJob extends OrderJob<AppendOrder> {
  readonly #watch: ChangeWatch;
  readonly #resolve: (result: AppendResult) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    order: AppendOrder,
    executor: OrderPerformer,
    watch: ChangeWatch,
    resolve: (result: AppendResult) => void,
    reject: (error: unknown) => void,
  ) {
    super(order, executor);
    this.#watch = watch;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  accept(answer: OrderAnswer): void {
    if (answer.type === 'append') this.tell(answer.result);
  }

  tell(result: AppendResult): void {
    const { sessionId, callId } = this.order;
    if (callId !== undefined && result.status === 'appended')
      this.#watch.callChanged(sessionId, callId, result.version);
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }
}
