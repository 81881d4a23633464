import type { ReactNode } from 'react';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import { CopyButton } from '../../ui/copy-button.tsx';
import { readable } from './artifact-pieces.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { maskedValue } from '../../ui/masked-value.ts';

/** The content sent to the model, part by part: the same bytes as in the ledger. */
export function ContentPanel({ detail: { content, call } }: { readonly detail: CallDetail }): ReactNode {
  if (content === undefined || call.settled === undefined)
    return <p className="muted">No content yet: the call has no outcome.</p>;
  return (
    <div className="model-content">
      {content.map((part, index) =>
        part.type === 'text' ? (
          <div key={index} className="model-content-part">
            <ValueBlock label={`Model content, part ${index + 1}`} value={maskedValue(readable(part.text))} />
            <CopyButton text={part.text} label={`Copy part ${index + 1} as sent`} />
          </div>
        ) : (
          <p key={index}>
            File,{' '}
            <code>
              <ForeignText text={part.mimeType} />
            </code>
          </p>
        ),
      )}
    </div>
  );
}
