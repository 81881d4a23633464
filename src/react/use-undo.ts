import type { ToolCallView } from '../view/tool-call-view.ts';
import type { Sending } from './use-send-once.ts';
import { useSendOnce } from './use-send-once.ts';

/** Why it is taken back. With the name of whoever asks it is what `runtime.calls.undo` takes. */
export type UndoAsked = { readonly reason?: string };

/** Passes an undo on. What it throws, or its promise, is shown as the reason of a refusal. */
export type OnUndo = (call: ToolCallView, request: UndoAsked) => unknown;

/** What a call did can be taken back, once. */
export type Undoing = Omit<Sending<UndoAsked>, 'send'> & {
  /** Until when, by the ledger's clock; for ever where undefined. */
  readonly until: number | undefined;
  readonly undo: (reason?: string) => void;
};

/** The way to undo a call. Undefined where it cannot be undone, or nobody listens. */
export function useUndo(call: ToolCallView | undefined, onUndo: OnUndo | undefined): Undoing | undefined {
  const handle = call?.undo;
  const { send, ...sending } = useSendOnce<UndoAsked>(
    call?.key,
    call === undefined || handle === undefined || onUndo === undefined
      ? undefined
      : (request) => onUndo(call, request),
  );
  if (handle === undefined || onUndo === undefined) return undefined;
  return {
    ...sending,
    until: handle.until,
    undo: (reason) => send(reason === undefined || reason.trim() === '' ? {} : { reason: reason.trim() }),
  };
}
