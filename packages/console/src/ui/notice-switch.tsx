/** Switches notifications of this browser on. The browser asks for permission only after a click. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import { canNotify, isNotifying, setNotifying } from './show-notice.ts';

export function NoticeSwitch(): ReactNode {
  const [isOn, setOn] = useState(isNotifying);
  const [isBlocked, setBlocked] = useState(false);
  if (!canNotify()) return null;
  if (isBlocked)
    return <span className="muted">This browser blocks notifications. Allow them in its site settings.</span>;
  const toggle = async (): Promise<void> => {
    const permission = isOn ? 'default' : await Notification.requestPermission();
    setNotifying(permission === 'granted');
    setOn(isNotifying());
    setBlocked(permission === 'denied');
  };
  return (
    <button type="button" className="ghost" aria-pressed={isOn} onClick={() => void toggle()}>
      {isOn ? 'Notifications on' : 'Notify me'}
    </button>
  );
}
