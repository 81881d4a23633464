/**
 * The read tables of one ledger: filled before they are asked, so that whoever was told of something finds it, and
 * in quiet moments, so that little is left to fill.
 */
import { performance } from 'node:perf_hooks';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import type { OpenCall, OpenCallQuery, Queries } from '../../ledger/queries.ts';
import { isQuittanceError } from '../../base/error.ts';
import { closedError } from '../../ledger/refuse-entry.ts';
import { backoffMs, whenFree } from './backoff.ts';
import { CallTable, parseOpenCursor } from './call-table.ts';
import type { Database } from './database.ts';
import { isBusy, isDamaged, isForeign, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import { Projection } from './projection.ts';
import { Projector } from './projector.ts';
import { openReadTables, removeReadTables } from './read-schema.ts';
import { TallyTable } from './tally-table.ts';

type Opened = {
  /** Fills the tables. A connection of its own, so that questions see whole steps only. */
  readonly writer: Database;
  readonly reader: Database;
  readonly projection: Projection;
  readonly projector: Projector | undefined;
  readonly calls: CallTable;
  readonly tallies: TallyTable;
};

/** How long nothing must be appended before the time counts as quiet. */
const quietMs = 50;
/** The share of the time since the tables were last looked after that the event loop may have been at work. */
const quietLoop = 0.5;
/** After the thread was at work in busy times it rests three times as long, so that it leaves the machine to them. */
const restPerWork = 3;
const longestRestMs = 5_000;
/** Without that thread: so far behind, they are filled in busy times too, since the next who asks waits for the rest. */
const longestLag = 50_000;

export class ReadTables implements Queries {
  readonly #ledger: Database;
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #path: string;
  readonly #threadLag: number;
  #opened: Promise<Opened> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #appendedAtMs = 0;
  #loop = performance.eventLoopUtilization();
  #step: Promise<void> | undefined;
  #isFilling = false;
  #closed = false;

  /** `threadLag`: so far behind, the tables are filled by a thread of their own. */
  constructor(ledger: Database, entries: EntryTable, heads: Heads, path: string, threadLag: number) {
    this.#threadLag = threadLag;
    this.#ledger = ledger;
    this.#entries = entries;
    this.#heads = heads;
    this.#path = path;
  }

  async findCalls(query: CallQuery): Promise<Page<CallSummary>> {
    const { calls } = await this.#filled();
    return calls.queryCalls(query);
  }

  async tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Promise<readonly CallTally<Name>[]> {
    const { tallies } = await this.#filled();
    return tallies.query(query);
  }

  async findSessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    const { calls } = await this.#filled();
    return calls.querySessions(query);
  }

  async findConfirmations(query: ConfirmationQuery): Promise<Page<ConfirmationSummary>> {
    const { calls } = await this.#filled();
    return calls.queryConfirmations(query);
  }

  async findConfirmation(confirmationId: string): Promise<ConfirmationSummary | undefined> {
    const { calls } = await this.#filled();
    return calls.findConfirmation(confirmationId);
  }

  /**
   * The first page says how far the tables reached, and the others need no more. Else whoever lists many open calls
   * would wait with each page for everything that was appended since the page before.
   */
  async findOpenCalls({ after, limit = -1 }: OpenCallQuery = {}): Promise<readonly OpenCall[]> {
    const place = after === undefined ? undefined : parseOpenCursor(after);
    const { calls, target } = await this.#filled(place?.target);
    return calls.findOpen(place, limit, target);
  }

  /** Empties the tables and fills them from the entries. Gives what kept it from filling them, in words. */
  async rebuild(): Promise<readonly string[]> {
    try {
      const { projection } = await this.#open();
      await this.#step;
      await whenFree(() => projection.reset());
    } catch (error) {
      if (!isDamaged(error) && !isForeign(error)) throw error;
      await this.#closeTables();
      removeReadTables(this.#path);
    }
    try {
      await this.#filled();
      return [];
    } catch (error) {
      // Entries that say what cannot be: `verify` names them.
      if (!isQuittanceError(error, 'ledger.damaged') && !(error instanceof TypeError)) throw error;
      return [`The read tables are filled in part only: ${error.message}`];
    }
  }

  /** Something was appended: fills the tables once that has been all for a while. */
  noteAppend(): void {
    this.#appendedAtMs = performance.now();
    if (this.#timer === undefined && !this.#closed) this.#comeBack();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#closeTables();
  }

  async #closeTables(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.projector?.close();
    await this.#step?.catch(() => undefined);
    this.#opened = undefined;
    opened?.reader.close();
    opened?.writer.close();
  }

  #comeBack(afterMs = quietMs): void {
    this.#loop = performance.eventLoopUtilization();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#fillAside();
    }, afterMs);
    this.#timer.unref();
  }

  #open(): Promise<Opened> {
    if (this.#opened !== undefined) return this.#opened;
    const opening = whenFree(() => {
      const ledgerId = prepareValue<string>(this.#ledger, 'SELECT ledger_id FROM ledger').get() as string;
      const { writer, reader } = openReadTables(this.#path, ledgerId);
      const projector =
        writer === reader
          ? undefined // in memory: no other thread can see them
          : new Projector({ ledgerPath: this.#ledger.name, tablesPath: this.#path, ledgerId });
      const projection = new Projection(this.#ledger, this.#entries, this.#heads, writer);
      return {
        writer,
        reader,
        projection,
        projector,
        calls: new CallTable(reader),
        tallies: new TallyTable(reader),
      };
    });
    this.#opened = opening;
    // One failure of the disk must not end all questions: the next one opens the tables again.
    opening.catch(() => {
      if (this.#opened === opening) this.#opened = undefined;
    });
    return opening;
  }

  /** Whoever was told of something until now, or until a position, finds it in the tables. */
  async #filled(until?: number): Promise<Opened & { readonly target: number }> {
    const opened = await this.#open();
    const { projection, projector } = opened;
    const { end } = projection;
    const target = Math.min(until ?? end, end); // a ledger that was put back to an earlier state ends earlier
    if (projection.reaches(target)) return { ...opened, target };
    if (projection.lag > this.#threadLag) await projector?.fill(target);
    for (let tries = 0; !projection.reaches(target);)
      try {
        if (this.#closed) throw closedError();
        await this.#takeStep(projection);
        tries = 0;
      } catch (error) {
        if (!isBusy(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, backoffMs(tries++)));
      }
    return { ...opened, target };
  }

  /** One at a time: whoever comes meanwhile waits for the step that is being taken. */
  #takeStep(projection: Projection): Promise<void> {
    this.#step ??= projection
      .step(() => this.#closed)
      .finally(() => {
        this.#step = undefined;
      });
    return this.#step;
  }

  /** A failure here is nobody's: whoever asks the tables meets it and is told. */
  async #fillAside(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      const { projection, projector } = await this.#open();
      const beganMs = performance.now();
      const isDone = projection.lag > this.#threadLag && (await projector?.fill(projection.end)) === true;
      const restMs = Math.min((performance.now() - beganMs) * restPerWork, longestRestMs);
      while (
        !isDone &&
        !this.#closed &&
        projection.lag > 0 &&
        (this.#isQuiet || projection.lag > longestLag)
      ) {
        await this.#takeStep(projection);
        await new Promise(setImmediate);
      }
      if (this.#closed || projection.lag === 0) return;
      if (this.#timer === undefined) this.#comeBack(this.#isQuiet ? quietMs : Math.max(quietMs, restMs));
    } catch {
      return;
    } finally {
      this.#isFilling = false;
    }
  }

  /**
   * Has nothing been appended for a while, and was there time for it? A process that reads for long, or gets little of
   * a busy machine, appends nothing either.
   */
  get #isQuiet(): boolean {
    return (
      performance.now() - this.#appendedAtMs >= quietMs &&
      performance.eventLoopUtilization(this.#loop).utilization < quietLoop
    );
  }
}
