/** Short notices in a corner, also read out. Success notices disappear after a while; errors stay. */
import type { ReactNode } from 'react';
import { createContext, useCallback, useContext, useMemo, useRef, useState } from 'react';
import { ForeignText } from './foreign-text.tsx';

type Toast = { readonly id: number; readonly text: string; readonly tone: 'good' | 'bad' };
type ShowToast = (text: string, tone?: Toast['tone']) => void;

const ToastContext = createContext<ShowToast>(() => undefined);
export const useToast = (): ShowToast => useContext(ToastContext);

const staysMs = 6_000;

export function ToastArea({ children }: { readonly children: ReactNode }): ReactNode {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const count = useRef(0);
  const drop = useCallback(
    (id: number) => setToasts((before) => before.filter((toast) => toast.id !== id)),
    [],
  );
  const showToast = useCallback<ShowToast>(
    (text, tone = 'good') => {
      const id = ++count.current;
      setToasts((before) => [...before.slice(-3), { id, text, tone }]);
      if (tone === 'good') setTimeout(() => drop(id), staysMs);
    },
    [drop],
  );
  const value = useMemo(() => showToast, [showToast]);
  return (
    <ToastContext value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, tone }) => (
          <div key={id} className="toast" data-tone={tone}>
            <ForeignText text={text} />
            <button type="button" className="ghost" onClick={() => drop(id)} aria-label="Dismiss">
              ×
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
