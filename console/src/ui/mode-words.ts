import type { ToolMode, ToolModeOrigin } from '../../../src/tool/mode.ts';

/** How far a tool may reach, as people say it. */
export const modeWords: { readonly [Mode in ToolMode]: string } = {
  read: 'read',
  safe_write: 'safe write',
  destructive: 'destructive',
  local: 'local',
  external: 'external',
};

/** Who said so. */
export const modeOriginWords: { readonly [Origin in ToolModeOrigin]: string } = {
  declared: 'declared',
  inferred: 'from its name',
  default: 'nobody said',
};
