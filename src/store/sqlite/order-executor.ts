import type { CursorMove } from '../../ledger/cursors.ts';
import type { Appender } from './appender.ts';
import type { ArtifactTable } from './artifact-table.ts';
import type { CursorTable } from './cursor-table.ts';
import type { OrderAnswer, OrderPerformer, WriteOrder } from './write-order.ts';

/** Performs orders: on the main thread, or on the writer thread. */
export class OrderExecutor implements OrderPerformer {
  readonly #appender: Appender;
  readonly #cursors: CursorTable;
  readonly #artifacts: ArtifactTable;

  constructor(appender: Appender, cursors: CursorTable, artifacts: ArtifactTable) {
    this.#appender = appender;
    this.#cursors = cursors;
    this.#artifacts = artifacts;
  }

  perform(order: WriteOrder): OrderAnswer {
    if (order.type !== 'append') this.#appender.flush();
    switch (order.type) {
      case 'append':
        return this.#appender.append(order);
      case 'cursor':
        return { type: 'done', isDone: this.#cursors.apply(order.move) === undefined };
      case 'artifact':
        return { type: 'done', isDone: this.#artifacts.name(order) };
    }
  }

  flush(): void {
    this.#appender.flush();
  }

  isKept(order: WriteOrder, answer: OrderAnswer | undefined): boolean {
    if (answer === undefined) return false;
    if (answer.type === 'append')
      return (
        answer.stored !== undefined && this.#appender.hashAt(answer.stored.position) === answer.stored.hash
      );
    return order.type === 'cursor' && answer.isDone && this.hasMoved(order.move);
  }

  /** Is the cursor where this move leaves it? No other process moves it for this holder. */
  hasMoved({ name, holder, from, to }: CursorMove): boolean {
    const found = this.#cursors.read(name);
    return from !== to && found?.holder === holder && found.position === to;
  }
}
