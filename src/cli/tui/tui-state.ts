/**
 * The state of the terminal interface, and how keys change it. It draws nothing and reads nothing.
 *
 * 1. A decision carries the question as it was shown. The digest and revision in it bind the decision.
 * 2. Approving takes two keys, and only after the end of the question was on the screen.
 * 3. Text that arrives in one piece is pasted, and never acts as a key.
 */
import type { CallSummary } from '../../ledger/call-query.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import { limits } from '../../runtime/host/limits.ts';
import type { Key } from './key.ts';

export type Tab = 'calls' | 'inbox';

/** The page of one question. */
export type OpenQuestion = {
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

export type TuiState = {
  readonly tab: Tab;
  readonly calls: readonly CallSummary[];
  readonly waiting: readonly ConfirmationView[];
  /** Selected line of the inbox. */
  readonly selected: number;
  readonly open: OpenQuestion | undefined;
  /** Last message, shown in the bottom line. */
  readonly message: string;
};

export const startState: TuiState = {
  tab: 'inbox',
  calls: [],
  waiting: [],
  selected: 0,
  open: undefined,
  message: '',
};

/** What the program does after a key. */
export type TuiAction =
  | { readonly type: 'quit' }
  | { readonly type: 'approve'; readonly view: ConfirmationView }
  | { readonly type: 'deny'; readonly view: ConfirmationView; readonly reason: string };

/** Lines of the open page, and how many of them fit. */
export type PageSize = { readonly lines: number; readonly room: number };

export type Pressed = { readonly state: TuiState; readonly action?: TuiAction };

export function pressKey(state: TuiState, key: Key, page: PageSize, mayDecide: boolean): Pressed {
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

export const say = (state: TuiState, message: string): TuiState => ({ ...state, message });

/** New rows from the ledger. An open page keeps what it shows, and closes if its question was answered elsewhere. */
export function refresh(
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
