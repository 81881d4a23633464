/**
 * The terminal interface: reads the ledger, draws the screen, and records decisions.
 *
 * 1. The terminal is restored however the program ends: the last key, a signal, an error.
 * 2. A page is redrawn from what it showed when it was opened, so new data never slides under a decision.
 */
import { isQuittanceError } from '../../base/error.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import { listConfirmations } from '../../runtime/people/list-confirmations.ts';
import { readPages } from '../../ledger/read-pages.ts';
import { byRiskAndAge } from '../confirmation-columns.ts';
import type { Decider } from '../command.ts';
import { createPeopleRuntime } from '../people-runtime.ts';
import type { Environment, KeyInput, ScreenOutput } from '../terminal.ts';
import { createTerminal } from '../terminal.ts';
import { drawTui, pageOf, type Screen } from './draw-tui.ts';
import { readKey, type Key } from './key.ts';
import { pressKey, refresh, say, startState, type TuiAction, type TuiState } from './tui-state.ts';

export type TuiOptions = {
  readonly ledger: Ledger;
  readonly input: KeyInput;
  readonly output: ScreenOutput;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** The person who decides; undefined to look only. */
  readonly decider: Decider | undefined;
};

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const refreshMs = 1_000;

export async function runTui(options: TuiOptions): Promise<void> {
  const { input, output, signal, ledger } = options;
  let state = startState;
  let shown = '';
  const stop = new AbortController();
  const done = AbortSignal.any([signal, stop.signal]);
  const screenOf = (): Screen => ({
    ...createTerminal(output, options.env, done),
    width: Math.max(40, output.columns ?? 80),
    textWidth: Math.max(40, output.columns ?? 80) - 2,
    rows: Math.max(8, output.rows ?? 24),
  });
  const draw = (): void => {
    // Work that was queued before the end may run after the terminal was restored.
    if (done.aborted) return;
    const [screen, now] = [screenOf(), ledger.now()];
    state = noteRead(state, screen, now);
    const text = drawTui(state, screen, now, options.decider?.by)
      .map((line) => `${line}\u001b[K`)
      .join('\r\n');
    if (text === shown) return;
    shown = text;
    output.write(`\u001b[H${text}\u001b[J`);
  };
  const reload = async (): Promise<void> => {
    state = refresh(state, ...(await readLedger(ledger, screenOf().rows, done)));
    draw();
  };
  const press = async (key: Key): Promise<void> => {
    const { text, room } = pageOf(state, screenOf(), ledger.now());
    const pressed = pressKey(state, key, { lines: text.length, room }, options.decider !== undefined);
    state = pressed.state;
    if (pressed.action?.type === 'quit') return stop.abort();
    const { decider } = options;
    if (pressed.action !== undefined && decider !== undefined)
      state = say(state, await decide(pressed.action, ledger, decider));
    draw();
    if (pressed.action !== undefined) await reload();
  };
  let failure: unknown;
  // One after the other, so that a key acts on the screen that the person saw.
  let work: Promise<void> = Promise.resolve();
  const queue = (task: () => Promise<void>): void => {
    work = work.then(task).catch((error: unknown) => {
      if (done.aborted) return;
      failure = error;
      stop.abort();
    });
  };
  const onData = (chunk: Buffer | string): void => {
    const key = readKey(String(chunk));
    if (key?.type === 'stop') stop.abort();
    else if (key !== undefined) queue(() => press(key));
  };
  const onResize = (): void => {
    shown = '';
    queue(async () => draw());
  };
  const timer = setInterval(() => queue(reload), refreshMs);
  output.write(enter);
  input.setRawMode?.(true);
  try {
    input.on('data', onData);
    input.once('end', () => stop.abort());
    output.on('resize', onResize);
    input.resume();
    queue(reload);
    if (!done.aborted)
      await new Promise<void>((resolve) => done.addEventListener('abort', () => resolve(), { once: true }));
    await work;
  } finally {
    clearInterval(timer);
    input.off('data', onData);
    output.off('resize', onResize);
    input.pause();
    input.setRawMode?.(false);
    output.write(leave);
  }
  if (failure !== undefined) throw failure;
}

/** Marks an open question as read once its last line is on the screen. */
function noteRead(state: TuiState, screen: Screen, now: number): TuiState {
  const { open } = state;
  if (open === undefined || open.isRead) return state;
  const { text, room } = pageOf(state, screen, now);
  return open.top + room >= text.length ? { ...state, open: { ...open, isRead: true } } : state;
}

async function readLedger(
  ledger: Ledger,
  rows: number,
  signal: AbortSignal,
): Promise<Parameters<typeof refresh> extends [unknown, ...infer Rest] ? Rest : never> {
  const waiting: ConfirmationView[] = [];
  for await (const page of readPages(
    (asked: Parameters<typeof listConfirmations>[1]) => listConfirmations({ ledger }, asked),
    { status: 'pending' },
    Number.POSITIVE_INFINITY,
    signal,
  ))
    waiting.push(...page.rows.filter(({ status }) => status === 'pending'));
  const { rows: calls } = await ledger.queries.findCalls({ limit: rows });
  return [calls, byRiskAndAge(waiting, ledger.now())];
}

/** Records the decision about exactly what was shown. Returns the message for the person. */
async function decide(
  action: Exclude<TuiAction, { type: 'quit' }>,
  ledger: Ledger,
  decider: Decider,
): Promise<string> {
  const { confirmationId, callId, toolName, inputDigest, preview } = action.view;
  const runtime = createPeopleRuntime(ledger);
  try {
    const decided = await runtime.confirmations.decide(confirmationId, {
      decision: action.type,
      ...decider,
      inputDigest,
      ...(preview !== undefined && { revision: preview.revision }),
      ...(action.type === 'deny' && action.reason !== '' && { reason: action.reason }),
    });
    const done = action.type === 'approve' ? 'Approved' : 'Denied';
    const more = decided.status === 'pending' ? ' The rules need more people.' : '';
    return `${done}: ${toolName}, call ${callId}.${more}`;
  } catch (error) {
    if (isQuittanceError(error)) return error.message;
    throw error;
  } finally {
    await runtime.close();
  }
}
