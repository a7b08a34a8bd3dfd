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
const { repository }: { name: string; repository?: { url: string } } = manifest
/** Versions whose sites stand beside this one; see scripts/site.ts. */
const older = (process.env['OLDER_VERSIONS'] ?? '').split(',').filter(Boolean)

/** Without scripts the menu is open, and in a narrow window it stands below the text. */
const WITHOUT_SCRIPTS = `
.VPSidebarItem.collapsed .items { display: block !important; }
@media (max-width: 959px) {
  .VPSidebar.VPSidebar { position: static; order: 1; width: auto; max-width: none; opacity: 1; visibility: visible; transform: none; box-shadow: none; }
  .VPLocalNav { display: none !important; }
}`

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
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['noscript', {}, `<style>${WITHOUT_SCRIPTS}</style>`],
  ],
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
