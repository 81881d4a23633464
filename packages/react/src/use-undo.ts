import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import type { Sending } from './use-send-once.ts';
import { useSendOnce } from './use-send-once.ts';

/** Reason for the undo. Add the name of the person for `runtime.calls.undo`. */
export type UndoAsked = { readonly reason?: string };

/** Sends an undo to the host. An error it throws, or a rejected promise, is shown as the reason of a refusal. */
export type OnUndo = (call: ToolCallView, request: UndoAsked) => unknown;

/** The undo of a call, possible once. */
export type Undoing = Omit<Sending<UndoAsked>, 'send'> & {
  /** End of the undo period, by the ledger's clock; undefined if there is no limit. */
  readonly until: number | undefined;
  readonly undo: (reason?: string) => void;
};

/** The undo of a call. Undefined without a handler, or if the call cannot be undone. */
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
