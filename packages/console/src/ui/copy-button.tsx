import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

/** Says so if the browser does not allow it, as on a page without HTTPS. */
export function CopyButton({
  text,
  label,
}: {
  /** A function if the text is long: it is made when it is copied. */
  readonly text: string | (() => string);
  readonly label: string;
}): ReactNode {
  const [result, setResult] = useState<'copied' | 'failed'>();
  useEffect(() => {
    if (result === undefined) return;
    const timer = setTimeout(() => setResult(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text());
      setResult('copied');
    } catch {
      setResult('failed');
    }
  };
  const shown =
    result === undefined ? label : result === 'copied' ? 'Copied' : 'The browser did not allow it';
  return (
    <button type="button" className="ghost copy" aria-label={shown} title={shown} onClick={() => void copy()}>
      <Icon name={result === 'copied' ? 'check' : result === 'failed' ? 'close' : 'copy'} />
    </button>
  );
}
