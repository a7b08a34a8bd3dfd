/** The site of the documentation: the Markdown files of the repository, as VitePress shows them. */
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import manifest from '../../package.json' with { type: 'json' }
import { anchorOf } from '../../scripts/docs/markdown.ts'
import { listFiles, root } from '../../scripts/repository.ts'
import { repositoryLinks } from '../links.ts'
import { writeMarkdown } from '../llms.ts'
import { placeOf, readPages, sectionsOf } from '../pages.ts'

const pages = readPages()
const sections = sectionsOf(pages)
const { version, description } = manifest
const { repository }: { repository?: { url: string } } = manifest
/** Versions whose sites stand beside this one; see scripts/site.ts. */
const older = (process.env['OLDER_VERSIONS'] ?? '').split(',').filter(Boolean)

export default defineConfig({
  title: 'Pannier',
  description,
  lang: 'en',
  srcDir: root,
  srcExclude: [
    '.cache/**',
    '.git/**',
    'dist/**',
    'release/**',
    ...listFiles().filter((path) => path.endsWith('.md') && placeOf(path) === undefined),
  ],
  rewrites: (path) => placeOf(path) ?? path,
  outDir: join(root, 'site/dist'),
  cacheDir: join(root, '.cache/site'),
  metaChunk: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // One page of the reference is larger than Vite expects of a chunk.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    anchor: { slugify: anchorOf },
    config: (md) => void md.use(repositoryLinks(repository?.url.replace(/^git\+|\.git$/g, ''))),
  },
  buildEnd: ({ outDir }) => writeMarkdown(outDir, { description, pages, sections }),
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: [
      ...sections.flatMap(({ title, pages: [first] }) =>
        first && title !== 'Project' ? [{ text: title, link: `/${first.place}` }] : [],
      ),
      {
        text: version,
        items: [
          { text: 'Changelog', link: '/changelog.md' },
          { text: 'What a version promises', link: '/reference/versions.md' },
          ...older.map((each) => ({ text: each, link: `/${each}/`, target: '_self' })),
        ],
      },
    ],
    sidebar: sections.map(({ title, pages: inSection }) => ({
      text: title,
      collapsed: true,
      items: inSection.map((page) => ({ text: page.title, link: `/${page.place}` })),
    })),
    docFooter: { prev: 'Before', next: 'Next' },
    footer: { message: 'Apache License 2.0' },
  },
})
