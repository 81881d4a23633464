/**
 * The settings of `quittance serve`. Each is an option, an environment variable and a key of the configuration file. To
 * add one, add a row here and read it with `given` in the command; then run `npm run docs` for the schema and its page.
 */
import { commonOptions } from '../command.ts';
import { consoleSettings } from './console-settings.ts';
import { retentionRulesSchema } from './retention-setting.ts';
import type { Settings } from './setting.ts';
import { signInSettings } from './sign-in-settings.ts';

/** The settings that the configuration file may have. */
export const serveSettings: Settings = {
  ledger: { ...commonOptions['ledger'], help: 'Ledger: a path, sqlite:PATH or postgres://…', value: 'URL' },
  host: { value: 'ADDRESS', help: 'Address to listen on; default: 127.0.0.1' },
  port: { value: 'PORT', help: 'Default: 4747; 0 takes any free port', kind: 'integer' },
  contracts: {
    value: 'FILE',
    help: 'Contract files to apply; reloaded when they change',
    file: true,
    multiple: true,
  },
  tools: { value: 'FILE', help: 'Tools that other programs run, as JSON', file: true },
  runtime: { value: 'FILE', help: 'Module that creates the runtime', file: true },
  notifications: {
    value: 'FILE',
    help: 'Notifications about calls: webhooks, Slack, Teams, e-mail',
    file: true,
  },
  name: { value: 'NAME', help: 'Name recorded for decisions made after logging in with the link' },
  'allow-host': { value: 'NAME', help: 'Additional host name the server answers to', multiple: true },
  'public-url': { value: 'URL', help: 'Public address of the server, behind a proxy' },
  'trace-url': {
    value: 'URL',
    help: 'Address of a trace, with {traceId} in it; the console links calls to their traces',
  },
  telemetry: {
    value: 'KIND',
    help: 'Traces and metrics of the calls of this server, through the OpenTelemetry SDK that the host loads; default: none',
    choices: ['none', 'opentelemetry'],
  },
  'trust-proxy': {
    value: 'ADDRESS',
    help: 'Proxy, or network of proxies, whose client address header is trusted',
    multiple: true,
  },
  'proxy-header': {
    value: 'NAME',
    help: 'Header with the client address; default: x-forwarded-for; or forwarded',
  },
  'seal-key-file': {
    value: 'FILE',
    help: 'Seal key of the ledger; default: next to the ledger file, or .quittance/seal.key',
    file: true,
  },
  log: {
    value: 'FORMAT',
    help: 'Format of the log on standard error; default: text',
    choices: ['text', 'json'],
  },
  'log-level': {
    value: 'LEVEL',
    help: 'Least level that is logged; default: info. debug includes every request',
    choices: ['debug', 'info', 'warn', 'error'],
  },
  'drain-delay': {
    value: 'SPAN',
    help: 'On a stop: time to keep serving while not ready, so that a proxy notices; default: none',
    kind: 'span',
  },
  'stop-timeout': {
    value: 'SPAN',
    help: 'On a stop: longest wait for running calls; default: 30s',
    kind: 'span',
  },
  'retention-rules': {
    value: 'JSON',
    help: 'Old sessions to remove or erase; the first rule that matches a session counts',
    key: 'retention.rules',
    kind: 'json',
    schema: retentionRulesSchema,
    needsProof: true,
  },
  'retention-every': {
    value: 'SPAN',
    help: 'How often the rules are applied; default: 1h',
    key: 'retention.every',
    kind: 'span',
    needsProof: true,
  },
  ...consoleSettings,
  ...signInSettings,
  json: { help: 'JSON instead of text: one line with the address, the link and a token for this run' },
};
