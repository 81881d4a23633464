/** Notifications of the browser: whether the person wants them here, and how one is shown. */

const storedAs = 'quittance.notify';

/** Browsers have notifications in secure contexts only, and some phones only for installed pages. */
export const canNotify = (): boolean => 'Notification' in window && window.isSecureContext;

export const isNotifying = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(storedAs) === 'on';

export function setNotifying(isOn: boolean): void {
  if (isOn) localStorage.setItem(storedAs, 'on');
  else localStorage.removeItem(storedAs);
}

/** `tag`: a notification with the same tag, perhaps of another tab, is replaced. It leads to a page and decides nothing. */
export function showNotice(notice: {
  readonly tag: string;
  readonly title: string;
  readonly body: string;
  readonly onOpen: () => void;
}): void {
  const { tag, title, body, onOpen } = notice;
  try {
    const shown = new Notification(title, { tag, body });
    shown.addEventListener('click', () => {
      window.focus();
      onOpen();
      shown.close();
    });
  } catch {
    // Some phones offer notifications to service workers only. The number in the title remains.
  }
}
