import type { ToolMode, ToolModeOrigin } from 'quittance/internal/tool/mode';

/** Labels of the tool modes. */
export const modeWords: { readonly [Mode in ToolMode]: string } = {
  read: 'read',
  safe_write: 'safe write',
  destructive: 'destructive',
  local: 'local',
  external: 'external',
};

/** Labels of the mode's origin. */
export const modeOriginWords: { readonly [Origin in ToolModeOrigin]: string } = {
  declared: 'declared',
  inferred: 'inferred from name',
  default: 'default',
};
