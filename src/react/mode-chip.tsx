import type { ReactNode } from 'react';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import { toolModeTreatments } from '../tool/mode.ts';

const modeWords: { readonly [Mode in ToolMode]: string } = {
  read: 'read',
  safe_write: 'safe write',
  destructive: 'destructive',
  local: 'local',
  external: 'external',
};

const originWords: { readonly [Origin in ToolModeOrigin]: string } = {
  declared: 'declared',
  inferred: 'inferred from name',
  default: 'default',
};

/** The mode of a tool and its origin. */
export function ModeChip({
  mode,
  origin,
}: {
  readonly mode: ToolMode;
  readonly origin: ToolModeOrigin;
}): ReactNode {
  return (
    <span className="qt-mode" data-mode={mode} title={toolModeTreatments[mode].meaning}>
      {modeWords[mode]} <span className="qt-origin">({originWords[origin]})</span>
    </span>
  );
}
