/** Switches notifications of this browser on. The browser asks for permission only after a click. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import { canNotify, isNotifying, setNotifying } from './show-notice.ts';

export function NoticeSwitch(): ReactNode {
  const [state, setState] = useState(() => ({ permission: permissionNow(), isOn: isNotifying() }));
  if (!canNotify()) return null;
  const { permission, isOn } = state;
  if (permission === 'denied')
    return <span className="muted">This browser blocks notifications. Allow them in its site settings.</span>;
  const toggle = async (): Promise<void> => {
    const next = isOn ? permission : await Notification.requestPermission();
    setNotifying(!isOn && next === 'granted');
    setState({ permission: next, isOn: isNotifying() });
  };
  return (
    <button type="button" className="ghost" aria-pressed={isOn} onClick={() => void toggle()}>
      {isOn ? 'Notifications on' : 'Notify me'}
    </button>
  );
}

const permissionNow = (): NotificationPermission => (canNotify() ? Notification.permission : 'denied');
