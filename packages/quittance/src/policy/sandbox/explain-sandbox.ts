/**
 * Lists the resources that a call names, and whether a sandbox rule would allow each. The rule is asked about each
 * resource alone, as if the call named nothing else. Only the rule's answer about all of them decides.
 */
import type { Redactor } from '../../base/redaction.ts';
import type { FoundPath } from './found-path.ts';
import type { FoundHost } from './host-name.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { FoundCommand, FoundResources } from './found-resources.ts';
import type { SandboxRule } from '../language/ruleset.ts';
import { compileSandbox } from './sandbox.ts';

export type ResourceExplanation = {
  readonly kind: 'path' | 'command' | 'host';
  /** The spelling it is judged by, with secrets masked; a description if it cannot be read. */
  readonly text: string;
  /** The target, if links lead elsewhere. */
  readonly leadsTo: readonly string[];
  /** Undefined if the rule does not constrain this kind. */
  readonly inside: boolean | undefined;
};

const nothing: FoundResources = { paths: [], commands: [], hosts: [] };

export function explainSandbox(
  rule: SandboxRule,
  resources: FoundResources,
  world: PolicyWorld,
  redactor: Redactor,
): readonly ResourceExplanation[] {
  const isOutside = compileSandbox(rule);
  const isInside = (alone: Partial<FoundResources>): boolean => {
    try {
      return !isOutside(() => ({ ...nothing, ...alone }), world);
    } catch {
      // A port of the host failed: the rule fires.
      return false;
    }
  };
  return [
    ...resources.commands.map((command): ResourceExplanation => ({
      kind: 'command',
      text: redactor.text(commandText(command)),
      leadsTo: [],
      inside:
        rule.allowedCommands === undefined &&
        command.readable &&
        command.runs.every(({ plain }) => plain !== undefined)
          ? undefined
          : isInside({ commands: [command] }),
    })),
    ...resources.paths.map((path): ResourceExplanation => ({
      kind: 'path',
      text: redactor.text(pathText(path)),
      leadsTo: leadsTo(path).map((place) => redactor.text(place)),
      inside: rule.within === undefined ? undefined : isInside({ paths: [path] }),
    })),
    ...resources.hosts.map((host): ResourceExplanation => ({
      kind: 'host',
      text: redactor.text(hostText(host)),
      leadsTo: [],
      inside: rule.allowedDomains === undefined ? undefined : isInside({ hosts: [host] }),
    })),
  ];
}

function commandText({ readable, runs }: FoundCommand): string {
  if (!readable)
    return 'a command that cannot be read: it expands, substitutes, groups or has other operators';
  return runs
    .map(
      ({ words, plain }) =>
        `${words.join(' ')}${plain === undefined ? ' (opaque: needs an entry with these words)' : ''}`,
    )
    .join(' | ');
}

function pathText(path: FoundPath): string {
  switch (path.type) {
    case 'placed':
      return path.path;
    case 'pattern':
      return `${path.folder.path.replace(/\/$/, '')}/${path.parts.join('/')}`;
    case 'floating':
      return `${path.parts.join('/')} (relative; set the option workingDirectory to its folder)`;
    case 'unreadable':
      return 'a path that cannot be determined from the call';
  }
}

function leadsTo(path: FoundPath): readonly string[] {
  if (path.type !== 'placed') return [];
  const real = path.real();
  return real === undefined ? ['an unknown location'] : real.filter((place) => place !== path.path);
}

const hostText = ({ name, port }: FoundHost): string =>
  name === undefined
    ? 'a host that cannot be determined from the call'
    : port === undefined
      ? name
      : `${name}:${port}`;
