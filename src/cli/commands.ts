/** Every command, in the order of the help. */
import type { Command } from './command.ts';
import { approveCommand } from './commands/approve.ts';
import { callsCommand } from './commands/calls.ts';
import { createCompletionCommand } from './commands/completion.ts';
import { denyCommand } from './commands/deny.ts';
import { editCommand } from './commands/edit.ts';
import { exportCommand } from './commands/export.ts';
import { grantsCommand } from './commands/grants.ts';
import { handoffCommand } from './commands/handoff.ts';
import { createHelpCommand } from './commands/help.ts';
import { pendingCommand } from './commands/pending.ts';
import { rebuildCommand } from './commands/rebuild.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { respondCommand } from './commands/respond.ts';
import { sessionsCommand } from './commands/sessions.ts';
import { showCommand } from './commands/show.ts';
import { verifyCommand } from './commands/verify.ts';

export const commands: readonly Command[] = [
  callsCommand,
  showCommand,
  sessionsCommand,
  pendingCommand,
  approveCommand,
  denyCommand,
  respondCommand,
  editCommand,
  grantsCommand,
  handoffCommand,
  reconcileCommand,
  verifyCommand,
  exportCommand,
  rebuildCommand,
  createCompletionCommand(() => commands),
  createHelpCommand(() => commands),
];
