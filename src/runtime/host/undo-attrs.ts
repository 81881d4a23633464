import type { Call } from '../../call/call.ts';

/** Metadata of an undo, next to its arguments. */
export type UndoAttrs = { readonly by: string; readonly reason: string | undefined; readonly force: boolean };

export function readUndoAttrs(attrs: Call['attrs']): UndoAttrs {
  const { by, reason, force } = attrs ?? {};
  return {
    by: typeof by === 'string' ? by : 'somebody',
    reason: typeof reason === 'string' ? reason : undefined,
    force: force === true,
  };
}
