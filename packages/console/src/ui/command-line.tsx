import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

/** A terminal command with a copy button. */
export function CommandLine({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="snippet command-line">
      <pre tabIndex={0} role="group" aria-label="Command">
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy: ${text}`} />
    </div>
  );
}
