import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

type Theme = 'system' | 'light' | 'dark';
const next: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const storeName = 'quittance.theme';

/** Light, dark or system theme, stored in this browser. */
export function ThemeSwitch(): ReactNode {
  const [theme, setTheme] = useState<Theme>(() => {
    const kept = window.localStorage.getItem(storeName);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  });
  useEffect(() => {
    const { dataset } = document.documentElement;
    if (theme === 'system') {
      delete dataset['theme'];
      delete dataset['quittanceTheme'];
      window.localStorage.removeItem(storeName);
    } else {
      dataset['theme'] = theme;
      dataset['quittanceTheme'] = theme;
      window.localStorage.setItem(storeName, theme);
    }
  }, [theme]);
  return (
    <button
      type="button"
      className="ghost"
      onClick={() => setTheme(next[theme])}
      aria-label={`Theme: ${theme}. Change to ${next[theme]}`}
      title={`Theme: ${theme}`}
    >
      <Icon name={theme === 'dark' ? 'moon' : 'sun'} />
    </button>
  );
}
