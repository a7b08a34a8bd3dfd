/** The site of the documentation, as `npm run site` builds it. */
import { posix } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readText } from '../../scripts/repository.ts'
import { targetOf } from '../../site/links.ts'
import { placeOf, readPages, sectionsOf } from '../../site/pages.ts'
import { browserPaths, type Looked, lookAt, openBrowser } from './fixtures/browser.ts'
import { type BuiltSite, buildSite, serveSite } from './fixtures/builtSite.ts'

const BUILD_MS = 300_000
const pages = readPages()
const htmlOf = (place: string): string => place.replace(/\.md$/, '.html')

let site: BuiltSite
beforeAll(async () => {
  if (browserPaths.length === 0)
    console.warn('Chromium is not installed (apt install chromium), so no page of the site is looked at in a browser.')
  site = await buildSite('--older', '0.0.9')
}, BUILD_MS)
afterAll(() => site?.remove())

const textOf = (html: string): string => html.replace(/<script[^]*?<\/script>|<style[^]*?<\/style>|<[^>]+>/g, '')

test('every page of docs is there, with its text in the HTML itself', () => {
  expect(pages.length).toBeGreaterThan(50)
  for (const { place, title, path } of pages) {
    const text = textOf(site.html.get(htmlOf(place)) ?? '')
    expect(text, path).toContain(title.replaceAll('"', '&quot;').split(' ')[0])
    // Four words of the page that stand together, whatever they are.
    const words =
      /[A-Za-z]+(?: [a-z]+){3}(?= )/.exec(readText(path).replace(/```[^]*?```|^.*[#|<`[].*$/gm, ''))?.[0] ?? ''
    expect(text.replace(/\s+/g, ' '), path).toContain(words)
  }
})

test('every link and every anchor leads to something on the site', () => {
  const dead: string[] = []
  for (const [path, html] of site.html) {
    for (const [, link = ''] of html.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
      if (/^([a-z]+:|\/\/)/.test(link) || link.startsWith('/0.0.9/')) continue
      const [file = '', anchor = ''] = link.split('#')
      const target = file === '' ? path : posix.join('/', posix.dirname(path), file).slice(1)
      const there = file.startsWith('/') ? file.slice(1) : target
      const text = site.html.get(there || 'index.html')
      if (text === undefined) dead.push(`${path}: ${link}`)
      else if (anchor !== '' && !text.includes(`id="${decodeURIComponent(anchor)}"`)) dead.push(`${path}: ${link}`)
    }
  }
  expect(dead).toEqual([])
})

test('a link to a file that is not there ends the build; one to a source needs the address of the repository', () => {
  expect(() => targetOf('none.md', 'docs/README.md', undefined)).toThrow('docs/none.md is not there')
  expect(targetOf('../SECURITY.md#scope', 'docs/README.md', undefined)).toBe('/security.md#scope')
  expect(targetOf('../package.json', 'docs/README.md', undefined)).toBeUndefined()
  expect(targetOf('../package.json', 'docs/README.md', 'https://host/us')).toBe(
    'https://host/us/blob/HEAD/package.json',
  )
  expect(targetOf('https://example.com/a', 'docs/README.md', undefined)).toBe('https://example.com/a')
})

test('the menu has each folder of docs, and its pages in the order of the table of contents', () => {
  const page = (path: string) => ({ path, place: placeOf(path) ?? '', title: path })
  const [first, ...others] = ['docs/how-to/a.md', 'docs/how-to/zzz.md', 'docs/tutorials/b.md', 'docs/new/c.md'].map(
    page,
  )
  const sections = sectionsOf([...others, ...(first ? [first] : [])])
  expect(sections.map(({ title }) => title)).toEqual(['Tutorials', 'How-to guides', 'new'])
  expect(sections[1]?.pages.map(({ path }) => path)).toEqual(['docs/how-to/a.md', 'docs/how-to/zzz.md'])
  const tutorials = sectionsOf(pages)[0]?.pages.map(({ place }) => place) ?? []
  const contents = readText('docs/README.md')
  expect(tutorials).toEqual(tutorials.toSorted((a, b) => contents.indexOf(`(${a}`) - contents.indexOf(`(${b}`)))
})

test('the menu names the version, and links to the changelog and to older versions', () => {
  const start = site.html.get('index.html') ?? ''
  expect(start).toContain(manifest.version)
  expect(start).toContain('href="/changelog.html"')
  expect(start).toContain('href="/0.0.9/"')
})

test('llms.txt names every page, each of them is there as Markdown, and llms-full.txt has them all', () => {
  const index = site.files.get('llms.txt') ?? ''
  const all = site.files.get('llms-full.txt') ?? ''
  expect(index).toMatch(/^# Pannier\n\n> .+\n\n## Tutorials\n\n- \[/)
  for (const { place, title } of pages.filter((each) => each.place !== 'index.md')) {
    expect(index).toContain(`- [${title}](${place})`)
    const text = site.files.get(place) ?? ''
    expect(all).toContain(text)
    for (const [, link = ''] of text
      .replace(/^```[^]*?^```$|`[^`\n]*`/gm, '')
      .matchAll(/\]\((?!https?:)([^)#\s]+\.md)[^)]*\)/g)) {
      expect([...site.files.keys()], place).toContain(posix.join(posix.dirname(place), link))
    }
  }
})

test('nothing is loaded from another host', () => {
  const loads = /<(?:script|img|iframe)[^>]+src="https?:|<link[^>]+href="https?:|url\(["']?https?:|@import ["']https?:/
  const loading = [...site.files].filter(([path, text]) => /\.(html|css)$/.test(path) && loads.test(text))
  expect(loading.map(([path]) => path)).toEqual([])
})

const LOOKED_AT = ['index.html', 'reference/pannier-server.html', 'reference/gateway-settings.html']

const VIEWS = [390, 1440].flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })))

async function inBrowser(path: string, look: (browser: Browser, url: string) => Promise<void>): Promise<void> {
  const served = await serveSite(site)
  const browser = await openBrowser(path)
  try {
    await look(browser, served.url)
  } finally {
    await browser.close()
    served.close()
  }
}

const look = (name: string, run: (browser: Browser, url: string) => Promise<void>): void =>
  test.each(browserPaths)(`in %s ${name}`, (path) => inBrowser(path, run), BUILD_MS)

look(
  'no page is wider than its window, loads from elsewhere or reports an error, in light and dark',
  async (browser, url) => {
    for (const view of VIEWS) {
      for (const page of LOOKED_AT) {
        const expected: Looked = { isTooWide: false, isDark: view.scheme === 'dark', elsewhere: [], errors: [] }
        expect(await lookAt(browser, url, page, view), `${page} at ${view.width}, ${view.scheme}`).toEqual(expected)
      }
    }
  },
)

look('a search finds an option, and code is copied', async (browser, url) => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  await page.goto(`${url}reference/pannier-server.html`, { waitUntil: 'networkidle' })
  await page.locator('.vp-doc button.copy').first().click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain('bearer(')
  await page.locator('.VPNavBarSearch button').first().click()
  await page.locator('#localsearch-input').fill('maxCallSeconds')
  await page.locator('.VPLocalSearchBox .result', { hasText: 'ServerOptions' }).first().waitFor()
})

look('the text and the links to the other pages are there without scripts', async (browser, url) => {
  for (const { width } of VIEWS) {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width, height: 900 } })
    const page = await context.newPage()
    await page.goto(`${url}reference/pannier-server.html`)
    expect(await page.locator('main').innerText()).toContain('maxCallSeconds')
    expect(await page.locator('aside a[href="/how-to/asking.html"]').isVisible()).toBe(true)
  }
})
