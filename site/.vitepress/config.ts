/** The documentation site: `npm run site`. Pages, order and anchors are those of docs/. */
import { dirname, join, normalize, relative, sep } from 'node:path';
import { existsSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import manifest from '../../package.json' with { type: 'json' };
import { toAnchor } from '../../scripts/site/headings.ts';
import { navigation, projectPages, titleOf } from '../../scripts/site/navigation.ts';

const root = join(import.meta.dirname, '../..');
const docs = join(root, 'docs');
const base = process.env['SITE_BASE'] ?? '/';

const link = (page: string): string => `/${page.replace(/\.md$/, '')}`;

export default defineConfig({
  title: 'Quittance',
  description: manifest.description,
  lang: 'en',
  base,
  srcDir: docs,
  outDir: process.env['SITE_OUT'] ?? join(root, 'site/dist'),
  cacheDir: join(root, 'site/node_modules/.cache/vitepress'),
  srcExclude: [...projectPages, 'decisions/**'],
  metaChunk: true,
  head: [['meta', { name: 'color-scheme', content: 'light dark' }]],
  // Links out of docs/ become plain text below. Every other link must lead somewhere.
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: toAnchor },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (markdown) => {
      const isOutside = (href: string, page: string): boolean => {
        if (/^(?:[a-z]+:|#|\/)/i.test(href)) return false;
        const path = normalize(join(dirname(join(docs, page)), href.replace(/#.*$/, '')));
        const inside = relative(docs, path).split(sep).join('/');
        return (
          inside.startsWith('..') ||
          projectPages.includes(inside) ||
          inside.startsWith('decisions') ||
          !existsSync(path)
        );
      };
      // Sources and tests are in the repository, not in the site: show their path instead of a link.
      markdown.core.ruler.push('outside-links', ({ tokens, env }) => {
        for (const { children } of tokens) {
          let path: string | undefined;
          for (const token of children ?? []) {
            if (token.type === 'link_open' && isOutside(token.attrGet('href') ?? '', env.relativePath)) {
              path = token.attrGet('href') ?? '';
              token.tag = 'span';
              token.attrs = [
                ['class', 'source-path'],
                ['title', normalize(join('docs', dirname(env.relativePath), path))],
              ];
            } else if (token.type === 'link_close' && path !== undefined) {
              token.tag = 'span';
              path = undefined;
            }
          }
        }
      });
    },
  },
  vite: {
    publicDir: false,
    plugins: [
      {
        // The switch of the site, not only the setting of the system, chooses the picture.
        name: 'pictures-by-theme',
        enforce: 'pre',
        transform: (text, id) =>
          id.endsWith('.md')
            ? text.replaceAll(
                /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*<\/picture>/g,
                (_, dark: string, alt: string, light: string) =>
                  `<div class="drawing" tabindex="0">\n<img class="only-light" alt="${alt}" src="./${light}">\n<img class="only-dark" alt="${alt}" src="./${dark}">\n</div>`,
              )
            : undefined,
      },
    ],
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // The index holds plain text, so its code needs no colors. They take a fifth of the time of a build.
        _render: (text, env, markdown) => {
          const { highlight } = markdown.options;
          markdown.options.highlight = null;
          try {
            return markdown.render(text, env);
          } finally {
            markdown.options.highlight = highlight;
          }
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/getting-started' },
      { text: 'Guides', link: '/guides/protect-a-shell-tool' },
      { text: 'Cookbook', link: '/cookbook' },
      { text: 'Reference', link: '/cli' },
      {
        text: `v${manifest.version}`,
        items: [
          { text: 'Versions and stability', link: '/versioning' },
          {
            text: 'All versions',
            link: '/versions.html',
            target: '_self',
            rel: '',
          },
        ],
      },
    ],
    sidebar: navigation.map(({ title, pages }, index) => ({
      text: title,
      collapsed: index > 1,
      items: pages.map((page) => ({ text: titleOf(page), link: link(page) })),
    })),
    docFooter: { prev: 'Previous', next: 'Next' },
    footer: { message: `Quittance ${manifest.version}, ${manifest.license} license` },
  },
});
