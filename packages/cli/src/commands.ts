/** Every command, in the order of the help. */
import type { CliCommand, Topic } from './command.ts';
import { approveCommand } from './commands/approve.ts';
import { backtestCommand } from './commands/backtest.ts';
import { backupCommand } from './commands/backup.ts';
import { behaviorsCommand } from './commands/behaviors.ts';
import { callsCommand } from './commands/calls.ts';
import { cassetteExportCommand } from './commands/cassette-export.ts';
import { cassetteSealCommand } from './commands/cassette-seal.ts';
import { cassetteShowCommand } from './commands/cassette-show.ts';
import { configSchemaCommand } from './commands/config-schema.ts';
import { copyCommand } from './commands/copy.ts';
import { createCompletionCommand } from './commands/completion.ts';
import { demoCommand } from './commands/demo.ts';
import { denyCommand } from './commands/deny.ts';
import { doctorCommand } from './commands/doctor.ts';
import { dropCommand } from './commands/drop.ts';
import { editCommand } from './commands/edit.ts';
import { contractsCheckCommand } from './commands/contracts-check.ts';
import { contractsDiffCommand } from './commands/contracts-diff.ts';
import { contractsExplainCommand } from './commands/contracts-explain.ts';
import { contractsSchemaCommand } from './commands/contracts-schema.ts';
import { contractsUpgradeCommand } from './commands/contracts-upgrade.ts';
import { contractsTestCommand } from './commands/contracts-test.ts';
import { diffCommand } from './commands/diff.ts';
import { forkCommand } from './commands/fork.ts';
import { eraseCommand } from './commands/erase.ts';
import { errorsCommand } from './commands/errors.ts';
import { archiveCommand } from './commands/archive.ts';
import { exportCommand } from './commands/export.ts';
import { delegationsCommand } from './commands/delegations.ts';
import { grantsCommand } from './commands/grants.ts';
import { handoffCommand } from './commands/handoff.ts';
import { createHelpCommand } from './commands/help.ts';
import { initCommand } from './commands/init.ts';
import { notificationsCommand } from './commands/notifications.ts';
import { mcpInstallCommand } from './commands/mcp-install.ts';
import { mcpLoginCommand } from './commands/mcp-login.ts';
import { mcpReviewCommand } from './commands/mcp-review.ts';
import { mcpUninstallCommand } from './commands/mcp-uninstall.ts';
import { mcpWrapCommand } from './commands/mcp-wrap.ts';
import { mcpCommand } from './commands/mcp.ts';
import { loginCommand } from './commands/login.ts';
import { logoutCommand } from './commands/logout.ts';
import { migrateCommand } from './commands/migrate.ts';
import { pendingCommand } from './commands/pending.ts';
import { rebuildCommand } from './commands/rebuild.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { respondCommand } from './commands/respond.ts';
import { retentionCommand } from './commands/retention.ts';
import { restoreCommand } from './commands/restore.ts';
import { rotateKeyCommand } from './commands/rotate-key.ts';
import { serveCommand } from './commands/serve.ts';
import { runCommand } from './commands/run.ts';
import { sessionsCommand } from './commands/sessions.ts';
import { showCommand } from './commands/show.ts';
import { signInsCommand } from './commands/sign-ins.ts';
import { tuiCommand } from './commands/tui.ts';
import { undoCommand } from './commands/undo.ts';
import { tokensCommand } from './commands/tokens.ts';
import { traceCommand } from './commands/trace.ts';
import { verifyCommand } from './commands/verify.ts';
import { whoamiCommand } from './commands/whoami.ts';

/** Commands by topic, in the order of the help. */
export const topics: readonly Topic[] = [
  {
    title: 'Start',
    commands: [initCommand, demoCommand],
  },
  {
    title: 'Read calls',
    commands: [callsCommand, showCommand, sessionsCommand, errorsCommand, traceCommand, diffCommand],
  },
  {
    title: 'Decide',
    commands: [
      pendingCommand,
      approveCommand,
      denyCommand,
      respondCommand,
      editCommand,
      tuiCommand,
      grantsCommand,
      delegationsCommand,
      reconcileCommand,
    ],
  },
  {
    title: 'Make calls',
    commands: [runCommand, forkCommand, undoCommand, handoffCommand],
  },
  {
    title: 'Rules and recordings',
    commands: [
      contractsCheckCommand,
      contractsTestCommand,
      contractsDiffCommand,
      contractsExplainCommand,
      contractsSchemaCommand,
      contractsUpgradeCommand,
      backtestCommand,
      cassetteExportCommand,
      cassetteShowCommand,
      cassetteSealCommand,
    ],
  },
  {
    title: 'Ledger',
    commands: [
      verifyCommand,
      exportCommand,
      archiveCommand,
      retentionCommand,
      eraseCommand,
      dropCommand,
      rebuildCommand,
      copyCommand,
      backupCommand,
      restoreCommand,
      rotateKeyCommand,
      migrateCommand,
    ],
  },
  {
    title: 'Server',
    commands: [
      serveCommand,
      configSchemaCommand,
      doctorCommand,
      notificationsCommand,
      behaviorsCommand,
      tokensCommand,
      signInsCommand,
      loginCommand,
      logoutCommand,
      whoamiCommand,
    ],
  },
  {
    title: 'MCP gateway',
    commands: [
      mcpCommand,
      mcpWrapCommand,
      mcpInstallCommand,
      mcpUninstallCommand,
      mcpReviewCommand,
      mcpLoginCommand,
    ],
  },
  {
    title: 'Help',
    commands: [createCompletionCommand(() => commands), createHelpCommand(() => topics)],
  },
];

export const commands: readonly CliCommand[] = topics.flatMap((topic) => topic.commands);
