/** A confirmation as a page for the approver: everything that would run, never cut. */
import { describeIdentity } from 'quittance/internal/call/describe-identity';
import type { Ask } from 'quittance/internal/call/event';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { nameNotes } from 'quittance/internal/view/json-lines';
import { artifactLines } from './artifact-lines.ts';
import { comparisonSection } from './comparison-section.ts';
import type { PageLayout } from './page-layout.ts';
import { indent, json, labelled, question, section } from './page-layout.ts';
import { approvalLines } from './approval-lines.ts';
import { previewLines } from './preview-lines.ts';
import { terminalText, terminalId } from './terminal-text.ts';
import { age } from './time-text.ts';

export function questionPage(view: ConfirmationView, page: PageLayout, now: number): string[] {
  const inside = { ...page, textWidth: page.textWidth - indent.length };
  const { preview } = view;
  return [
    `${page.paint('bold', terminalId(view.toolName))}  ${page.paint('yellow', terminalText(view.risk.join(', ')))}`.trimEnd(),
    '',
    ...facts(view, page, now),
    ...section(
      'Why',
      [...question(view.description, inside), ...view.asks.flatMap((ask) => askLines(ask, inside))],
      page,
    ),
    ...section('Approvals', approvalLines(view, inside), page),
    ...section('Arguments', input(view, inside), page),
    ...(preview === undefined
      ? comparisonSection(view.comparison ?? 'none', page, now)
      : section(
          `Preview, revision ${preview.revision}${preview.ready ? '' : ', not ready yet'}`,
          previewLines(preview.preview, inside, 'all'),
          page,
        )),
  ];
}

function facts(view: ConfirmationView, page: PageLayout, now: number): string[] {
  const { principal, provenance, expiresAt, timeoutEffect } = view;
  const then = timeoutEffect === 'allow' ? 'then it is allowed' : 'then it is denied';
  const known: readonly (readonly [string, string | undefined])[] = [
    ['question', view.confirmationId],
    ['call', terminalId(view.callId)],
    ['session', terminalId(view.sessionId)],
    [
      'for',
      principal && [principal.userId ?? principal.serviceId, principal.orgId].filter(Boolean).join(' of '),
    ],
    ['model', provenance && [provenance.provider, provenance.model].filter(Boolean).join(' ')],
    ['requester', view.askedBy && describeIdentity(view.askedBy)],
    ['requested', `${age(view.createdAt, now)} ago`.replace('now ago', 'just now')],
    [
      'expires',
      expiresAt === undefined ? undefined : now >= expiresAt ? 'over' : `${age(expiresAt, now)}; ${then}`,
    ],
    ['policy', view.policyVersion],
  ];
  return known.flatMap(([name, value]) => (value ? labelled(name, value, page) : []));
}

/** The source of the confirmation and its reason. */
export const askLines = ({ by, description, code }: Ask, page: PageLayout): string[] =>
  labelled(
    'asked by',
    `${by.type} ${by.name}${code === undefined ? '' : ` (${code})`}: ${description}`,
    page,
  );

const typedNote = 'Approximate: the tool receives values that JSON cannot represent.';

function input(view: ConfirmationView, page: PageLayout): string[] {
  const { requestedInput, effectiveInput, hidden } = view;
  const isSame = JSON.stringify(requestedInput) === JSON.stringify(effectiveInput);
  return [
    ...(view.inputForm === 'typed' ? [page.paint('dim', typedNote)] : []),
    ...json(effectiveInput, page, 'all'),
    ...artifactLines(view.artifacts, page),
    ...(isSame ? [] : [page.paint('dim', 'requested as'), ...json(requestedInput, page, 'all')]),
    ...nameNotes(effectiveInput).flatMap((note) => labelled('careful', note, page)),
    ...hidden.flatMap((path) => labelled('hidden', path, page)),
    ...labelled('digest', view.inputDigest, page),
  ];
}
