import { proofOptions } from '../proof.ts';
import type { CliCommand, Decider } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { UsageError } from '../usage-error.ts';
import { callColumns, callRow } from '../call-columns.ts';
import { inboxTable, byRiskAndAge } from '../confirmation-columns.ts';
import type { PageLayout } from '../page-layout.ts';
import { questionPage } from '../question-page.ts';
import type { Row, Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { terminalText } from '../terminal-text.ts';
import { breakText, textWidth, trim } from '../text-width.ts';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { listConfirmations } from 'quittance/internal/runtime/decide-confirmation';
import { readPages } from 'quittance/internal/ledger/call-query';
import { createPeopleRuntime } from '../people-runtime.ts';
import type { Environment, KeyInput, ScreenOutput } from '../terminal.ts';
import { createTerminal } from '../terminal.ts';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { limits } from 'quittance/internal/call/limits';
import { findCalls } from 'quittance/internal/ledger/reads';

export const tuiCommand: CliCommand = {
  name: 'tui',
  summary: 'Follow calls and decide held calls in a terminal',
  about: [
    'Two lists, updated every second: the inbox, riskiest first, and the newest calls. Enter opens a question with everything that would run. After you scrolled to the end, a approves. d denies, with an optional reason. Esc goes back, q or Ctrl-C quits.',
    'Your keys are the confirmation. With a token, decisions record its name; otherwise give --by.',
    'A decision applies to exactly what the page showed: its digest and preview revision. Without --by you can look, and not decide.',
  ],
  options: { by: { value: 'NAME', help: 'Name of the person who decides' }, ...proofOptions },
  examples: [
    ['quittance tui --by "Ada"', 'decide as Ada'],
    ['quittance tui --ledger shop.db', 'look only'],
  ],
  effect(given, { keyboard }) {
    const by = given.text('by');
    if (keyboard === undefined)
      throw new UsageError('quittance tui needs a terminal: input and output must not be redirected.', [
        'quittance pending',
        'quittance calls --follow',
      ]);
    if (by !== undefined && by.trim() === '')
      throw new UsageError('--by is the name of a person.', ['quittance tui --by NAME']);
    return by !== undefined || given.has('token-file')
      ? { kind: 'decides', role: 'approver', line: 'quittance tui' }
      : reads;
  },
  async run(given, context) {
    const { keyboard, env, signal } = context;
    if (keyboard === undefined) return exitCodes.usage;
    // Every decision is a key that the person presses after they read to the end.
    const decider = context.proof?.decider;
    return context.withLedger(
      given,
      async (ledger) => {
        await runTui({ ledger, ...keyboard, env, signal, decider });
        return exitCodes.good;
      },
      decider === undefined ? 'look' : 'write',
    );
  },
};

/** The screen of the terminal interface, as lines. Text of tools and models is made safe before it gets here. */

type Screen = PageLayout & { readonly width: number; readonly rows: number };

/** Lines of the screen that the head and the foot take. */
const frame = 4;

/** Lines of the open question, and the number of lines that fit. */
function pageOf(
  { open }: TuiState,
  screen: Screen,
  now: number,
): { readonly text: readonly string[]; readonly room: number } {
  const room = Math.max(1, screen.rows - frame);
  if (open === undefined) return { text: [], room };
  // Without colors, every line can be broken at the width. A line that the terminal breaks itself would push the end
  // of the question off the screen.
  const plain = { ...screen, paint: (_: unknown, text: string) => text };
  return { text: questionPage(open.view, plain, now).flatMap((line) => breakText(line, screen.width)), room };
}

function drawTui(state: TuiState, screen: Screen, now: number, by: string | undefined): readonly string[] {
  const { paint, width, rows } = screen;
  const room = Math.max(1, rows - frame);
  const body =
    state.open === undefined ? listLines(state, screen, now, room) : questionLines(state, screen, now);
  const padded = [...body.slice(0, room), ...Array<string>(Math.max(0, room - body.length)).fill('')];
  const who = by === undefined ? 'read only' : `as ${terminalText(by)}`;
  const tabs = (['inbox', 'calls'] as const).map((tab) => {
    const label = tab === 'inbox' ? `Inbox ${state.waiting.length}` : 'Calls';
    return tab === state.tab ? paint('inverse', ` ${label} `) : ` ${label} `;
  });
  return [
    `${paint('bold', 'Quittance')}  ${tabs.join('')}  ${paint('dim', trim(who, Math.max(8, width - 34)))}`,
    paint('dim', '─'.repeat(width)),
    ...padded,
    paint('dim', '─'.repeat(width)),
    footLine(state, width, paint),
  ];
}

function listLines(state: TuiState, screen: Screen, now: number, room: number): readonly string[] {
  if (state.tab === 'calls')
    return state.calls.length === 0
      ? ['No calls yet.']
      : tableLines(
          callColumns,
          state.calls.map((call) => callRow(call, now)),
          screen,
          undefined,
          room,
        );
  if (state.waiting.length === 0) return ['No calls await approval.'];
  const { columns, rows } = inboxTable(state.waiting, now);
  return tableLines(columns, rows, screen, state.selected, room);
}

/** A table, scrolled so that the selected row is visible. */
function tableLines(
  columns: readonly Column[],
  rows: readonly Row[],
  { width, paint }: Screen,
  selected: number | undefined,
  room: number,
): readonly string[] {
  const table = layOutTable(columns, rows, width - 2, paint);
  const first = Math.max(0, (selected ?? 0) - (room - 2));
  return [
    `  ${table.heading()}`,
    ...rows
      .slice(first, first + room - 1)
      .map((row, index) => `${index + first === selected ? paint('bold', '> ') : '  '}${table.line(row)}`),
  ];
}

function questionLines(state: TuiState, screen: Screen, now: number): readonly string[] {
  const { text, room } = pageOf(state, screen, now);
  const top = state.open?.top ?? 0;
  return text.slice(top, top + room);
}

function footLine({ open, message, tab }: TuiState, width: number, paint: Screen['paint']): string {
  const cut = (text: string): string => trim(text, width);
  switch (open?.step.type) {
    case 'confirming':
      return paint('yellow', cut('Approve exactly this call? y: approve   any other key: no'));
    case 'denying': {
      const prompt = `Deny. Reason (optional), then Enter: ${terminalText(open.step.reason)}`;
      // The end of the typed text stays visible.
      const last = breakText(prompt, width - 1).at(-1) ?? '';
      return `${textWidth(prompt) < width ? prompt : last}_`;
    }
    case 'reading':
      return message === ''
        ? paint('dim', cut('a: approve   d: deny   space, j, k: scroll   Esc: back   Ctrl-C: quit'))
        : paint('yellow', cut(terminalText(message)));
    case undefined:
      return message === ''
        ? paint(
            'dim',
            cut(`${tab === 'inbox' ? 'Enter: open   j, k: move   ' : ''}Tab: other list   q: quit`),
          )
        : paint('yellow', cut(terminalText(message)));
  }
}

/**
 * The terminal interface: reads the ledger, draws the screen, and records decisions.
 *
 * 1. The terminal is restored however the program ends: the last key, a signal, an error.
 * 2. A page is redrawn from what it showed when it was opened, so new data never slides under a decision.
 */

type TuiOptions = {
  readonly ledger: OpenLedger;
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
  ledger: OpenLedger,
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
  const { rows: calls } = await findCalls(ledger, { limit: rows });
  return [calls, byRiskAndAge(waiting, ledger.now())];
}

/** Records the decision about exactly what was shown. Returns the message for the person. */
async function decide(
  action: Exclude<TuiAction, { type: 'quit' }>,
  ledger: OpenLedger,
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

/**
 * The state of the terminal interface, and how keys change it. It draws nothing and reads nothing.
 *
 * 1. A decision carries the question as it was shown. The digest and revision in it bind the decision.
 * 2. Approving takes two keys, and only after the end of the question was on the screen.
 * 3. Text that arrives in one piece is pasted, and never acts as a key.
 */

type Tab = 'calls' | 'inbox';

/** The page of one question. */
type OpenQuestion = {
  readonly view: ConfirmationView;
  /** First visible line. */
  readonly top: number;
  /** The last line of the page was on the screen. */
  readonly isRead: boolean;
  readonly step:
    | { readonly type: 'reading' }
    | { readonly type: 'confirming' }
    /** Types the optional reason of a denial. */
    | { readonly type: 'denying'; readonly reason: string };
};

type TuiState = {
  readonly tab: Tab;
  readonly calls: readonly CallSummary[];
  readonly waiting: readonly ConfirmationView[];
  /** Selected line of the inbox. */
  readonly selected: number;
  readonly open: OpenQuestion | undefined;
  /** Last message, shown in the bottom line. */
  readonly message: string;
};

const startState: TuiState = {
  tab: 'inbox',
  calls: [],
  waiting: [],
  selected: 0,
  open: undefined,
  message: '',
};

/** What the program does after a key. */
type TuiAction =
  | { readonly type: 'quit' }
  | { readonly type: 'approve'; readonly view: ConfirmationView }
  | { readonly type: 'deny'; readonly view: ConfirmationView; readonly reason: string };

/** Lines of the open page, and how many of them fit. */
type PageSize = { readonly lines: number; readonly room: number };

type Pressed = { readonly state: TuiState; readonly action?: TuiAction };

function pressKey(state: TuiState, key: Key, page: PageSize, mayDecide: boolean): Pressed {
  if (key.type === 'stop') return { state, action: { type: 'quit' } };
  const { open } = state;
  if (open === undefined) return pressInList(state, key);
  switch (open.step.type) {
    case 'reading':
      return pressWhileReading(state, open, key, page, mayDecide);
    case 'confirming':
      if (key.type === 'text' && key.text === 'y')
        return { state: { ...state, open: undefined }, action: { type: 'approve', view: open.view } };
      return { state: { ...say(state, 'Not approved.'), open: { ...open, step: { type: 'reading' } } } };
    case 'denying':
      return pressWhileDenying(state, open, open.step.reason, key);
  }
}

function pressInList(state: TuiState, key: Key): Pressed {
  const { tab, waiting, selected } = state;
  const other: Tab = tab === 'inbox' ? 'calls' : 'inbox';
  const move = (to: number): Pressed => ({
    state: { ...state, message: '', selected: Math.max(0, Math.min(to, waiting.length - 1)) },
  });
  switch (key.type) {
    case 'tab':
      return { state: { ...say(state, ''), tab: other } };
    case 'up':
      return move(selected - 1);
    case 'down':
      return move(selected + 1);
    case 'home':
      return move(0);
    case 'end':
      return move(waiting.length - 1);
    case 'enter': {
      const view = tab === 'inbox' ? waiting[selected] : undefined;
      if (view === undefined) return { state };
      return { state: { ...say(state, ''), open: showQuestion(view) } };
    }
    case 'text':
      if (key.text === 'q') return { state, action: { type: 'quit' } };
      if (key.text === 'j') return move(selected + 1);
      if (key.text === 'k') return move(selected - 1);
      return { state: key.text.length > 1 ? say(state, 'Pasted text was ignored.') : state };
    case 'page-up':
    case 'page-down':
    case 'escape':
    case 'backspace':
    case 'stop':
      return { state };
  }
}

function pressWhileReading(
  state: TuiState,
  open: OpenQuestion,
  key: Key,
  { lines, room }: PageSize,
  mayDecide: boolean,
): Pressed {
  const last = Math.max(0, lines - room);
  const scroll = (to: number): Pressed => ({
    state: { ...say(state, ''), open: { ...open, top: Math.max(0, Math.min(to, last)) } },
  });
  const act = (step: OpenQuestion['step']): Pressed => {
    if (!mayDecide) return { state: say(state, 'To decide, start with: quittance tui --by NAME') };
    return { state: { ...say(state, ''), open: { ...open, step } } };
  };
  switch (key.type) {
    case 'up':
      return scroll(open.top - 1);
    case 'down':
      return scroll(open.top + 1);
    case 'page-up':
      return scroll(open.top - room);
    case 'page-down':
      return scroll(open.top + room);
    case 'home':
      return scroll(0);
    case 'end':
      return scroll(last);
    case 'escape':
    case 'backspace':
      return { state: { ...say(state, ''), open: undefined } };
    case 'text':
      if (key.text === 'j') return scroll(open.top + 1);
      if (key.text === 'k') return scroll(open.top - 1);
      if (key.text === ' ') return scroll(open.top + room);
      if (key.text === 'q') return { state: { ...say(state, ''), open: undefined } };
      if (key.text === 'a')
        return open.isRead
          ? act({ type: 'confirming' })
          : { state: say(state, 'Read to the end first: space scrolls.') };
      if (key.text === 'd') return act({ type: 'denying', reason: '' });
      return { state: key.text.length > 1 ? say(state, 'Pasted text was ignored.') : state };
    case 'enter':
    case 'tab':
    case 'stop':
      return { state };
  }
}

function pressWhileDenying(state: TuiState, open: OpenQuestion, reason: string, key: Key): Pressed {
  const typed = (text: string): Pressed => ({
    state: {
      ...state,
      open: { ...open, step: { type: 'denying', reason: text.slice(0, limits.reasonChars) } },
    },
  });
  switch (key.type) {
    case 'text':
      return typed(reason + key.text);
    case 'backspace':
      return typed(Array.from(reason).slice(0, -1).join(''));
    case 'enter':
      return {
        state: { ...state, open: undefined },
        action: { type: 'deny', view: open.view, reason: reason.trim() },
      };
    case 'escape':
      return { state: { ...say(state, 'Not denied.'), open: { ...open, step: { type: 'reading' } } } };
    case 'up':
    case 'down':
    case 'page-up':
    case 'page-down':
    case 'home':
    case 'end':
    case 'tab':
    case 'stop':
      return { state };
  }
}

const showQuestion = (view: ConfirmationView): OpenQuestion => ({
  view,
  top: 0,
  isRead: false,
  step: { type: 'reading' },
});

const say = (state: TuiState, message: string): TuiState => ({ ...state, message });

/** New rows from the ledger. An open page keeps what it shows, and closes if its question was answered elsewhere. */
function refresh(
  state: TuiState,
  calls: readonly CallSummary[],
  waiting: readonly ConfirmationView[],
): TuiState {
  const id = state.waiting[state.selected]?.confirmationId;
  const at = waiting.findIndex(({ confirmationId }) => confirmationId === id);
  const selected = at >= 0 ? at : Math.max(0, Math.min(state.selected, waiting.length - 1));
  const { open } = state;
  const isAnswered =
    open !== undefined && !waiting.some(({ confirmationId }) => confirmationId === open.view.confirmationId);
  if (!isAnswered) return { ...state, calls, waiting, selected };
  return {
    ...say(state, 'This question was answered or has expired.'),
    calls,
    waiting,
    selected,
    open: undefined,
  };
}

/** Keys that a terminal in raw mode sends. */
export type Key =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'enter' | 'escape' | 'backspace' | 'tab' | 'stop' }
  | { readonly type: 'up' | 'down' | 'page-up' | 'page-down' | 'home' | 'end' };

const sequences: Readonly<Record<string, Key['type']>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u001b': 'escape',
  '\u0003': 'stop',
  '\u0004': 'stop',
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  '\u001b[H': 'home',
  '\u001b[F': 'end',
  '\u001b[1~': 'home',
  '\u001b[4~': 'end',
};

/**
 * The key of one chunk of input. A chunk with several characters is pasted text: it is one text, so that no pasted
 * character acts as a key. Unknown sequences are undefined.
 */
export function readKey(chunk: string): Key | undefined {
  const known = sequences[chunk];
  if (known !== undefined && known !== 'text') return { type: known };
  // Ctrl-C must work, whatever else was typed in the same moment.
  if (chunk.includes('\u0003')) return { type: 'stop' };
  return chunk === '' || /\p{Cc}/u.test(chunk) ? undefined : { type: 'text', text: chunk };
}
