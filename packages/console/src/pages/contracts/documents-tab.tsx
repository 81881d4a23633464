import type { ReactNode } from 'react';
import { useEffect, useMemo, useRef } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import { safeLines } from 'quittance/internal/base/safe-text';
import type {
  ContractDocument,
  ContractsInForce,
  ContractsVersion,
  ContractsVersions,
} from '@quittance/server/internal/http/api/contract';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Banner } from '../../ui/banner.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { formatTime } from '../../ui/time.tsx';
import { placeInForce, placeInTexts, versionAt } from './rule-place.ts';

/**
 * The source of the documents. The address may name a rule and a version of the rules: the link of a blocked call does.
 * Then the page shows the line of the rule in that version.
 */
export function DocumentsTab({ inForce }: { readonly inForce: ContractsInForce }): ReactNode {
  const { query } = useRoute();
  const [ruleId, asked] = [query.get('rule'), query.get('version')];
  const isOther = asked !== null && asked !== inForce.policyVersion;
  const versions = useAnswer<ContractsVersions>(isOther ? '/v1/contracts/versions' : undefined);
  if (versions.error !== undefined) return <Problem error={versions.error} onRetry={versions.reload} />;
  if (isOther && versions.data === undefined) return <Skeleton rows={8} />;
  const earlier = isOther ? versionAt(versions.data?.rows, asked) : undefined;
  const { documents } = earlier ?? inForce;
  const place =
    ruleId === null
      ? undefined
      : earlier === undefined
        ? placeInForce(inForce, ruleId)
        : placeInTexts(earlier.documents, ruleId);
  const wanted = query.get('document') ?? place?.document;
  const document = documents.find(({ name }) => name === wanted) ?? documents[0];
  if (document === undefined)
    return (
      <Empty title="No documents in force">
        Start the server with <code>quittance serve --contracts contracts.yaml</code>.
      </Empty>
    );
  const typedLine = query.get('line');
  const line = typedLine === null ? place?.line : Number(typedLine);
  return (
    <>
      {isOther && <OtherVersion version={asked} found={earlier} />}
      {ruleId !== null && place === undefined && (
        <Banner tone="attention" title="The rule is not in these documents">
          <p>
            <code>
              <ForeignText text={ruleId} />
            </code>{' '}
            is not written in a document of this version. It may come from code or from a template.
          </p>
        </Banner>
      )}
      <DocumentCard
        documents={documents}
        document={document}
        line={wanted === undefined || document.name === wanted ? line : undefined}
        earlier={earlier}
      />
    </>
  );
}

type CardProps = {
  readonly documents: readonly ContractDocument[];
  readonly document: ContractDocument;
  /** The marked line. */
  readonly line: number | undefined;
  /** Set if the documents are not the ones in force. */
  readonly earlier: ContractsVersion | undefined;
};

function DocumentCard({ documents, document, line, earlier }: CardProps): ReactNode {
  return (
    <section className="card" aria-labelledby="document">
      <header>
        <h2 id="document">
          {documents.length > 1 ? (
            <select
              aria-label="Document"
              value={document.name}
              onChange={(event) =>
                goTo(
                  addressOf(['contracts', 'documents'], {
                    document: event.target.value,
                    version: earlier?.policyVersion,
                  }),
                )
              }
            >
              {documents.map(({ name }) => (
                <option key={name} value={name}>
                  <ForeignText text={name} />
                </option>
              ))}
            </select>
          ) : (
            <ForeignText text={document.name} />
          )}
        </h2>
        <span className="document-stamp">
          <code className="muted" title={document.stamp}>
            {digestLabel(document.stamp)}
          </code>
          {document.text !== undefined && <CopyButton text={document.text} label="Copy document" />}
          {document.text !== undefined && earlier === undefined && (
            <Link
              className="button"
              to={addressOf(['contracts', 'draft'], {
                document: document.name,
                line: line === undefined ? undefined : String(line),
              })}
            >
              Edit a draft
            </Link>
          )}
        </span>
      </header>
      {document.text === undefined ? (
        <p className="body muted">No source available: this document was not loaded as text.</p>
      ) : (
        <Source name={document.name} text={document.text} marked={line ?? Number.NaN} />
      )}
    </section>
  );
}

function OtherVersion({
  version,
  found,
}: {
  readonly version: string;
  readonly found: ContractsVersion | undefined;
}): ReactNode {
  return found === undefined ? (
    <Banner tone="attention" title="That version of the rules is not in the ledger">
      <p>
        The rules in force are shown instead of <code title={version}>{digestLabel(version)}</code>.
      </p>
    </Banner>
  ) : (
    <Banner tone="active" title="An earlier version of the rules">
      <p>
        Version <code title={version}>{digestLabel(version)}</code>, loaded {formatTime(found.loadedAt)}. It
        is no longer in force. <Link to={addressOf(['contracts', 'documents'])}>Show the rules in force</Link>
      </p>
    </Banner>
  );
}

type SourceProps = { readonly name: string; readonly text: string; readonly marked: number };

function Source({ name, text, marked }: SourceProps): ReactNode {
  const lines = useMemo(() => safeLines(text.replace(/\n$/, '')), [text]);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    mark.current?.scrollIntoView({ block: 'center' });
  }, [marked, name]);
  return (
    <pre className="rule-source" tabIndex={0} role="group" aria-label={`Source of ${safeWords(name)}`}>
      {lines.map((line, index) =>
        index + 1 === marked ? (
          <mark key={index} ref={mark} className="rule-source-line" data-line={index + 1}>
            {line || ' '}
          </mark>
        ) : (
          <span key={index} className="rule-source-line" data-line={index + 1}>
            {line || ' '}
          </span>
        ),
      )}
    </pre>
  );
}
