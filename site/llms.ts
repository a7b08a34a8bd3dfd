/** The documentation for language models: an index, everything in one file, and each page as Markdown. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withoutRegions } from '../scripts/docs/regions.ts'
import { readText } from '../scripts/repository.ts'
import { targetOf } from './links.ts'
import type { Page, Section } from './pages.ts'

interface Site {
  readonly description: string
  readonly pages: readonly Page[]
  readonly sections: readonly Section[]
}

export function writeMarkdown(folder: string, { description, pages, sections }: Site): void {
  const texts = new Map(pages.map((page) => [page, markdownOf(page)]))
  for (const [{ place }, text] of texts) write(join(folder, place), text)
  const lists = sections.map(({ title, pages: listed }) => `## ${title}\n\n${listed.map(lineOf).join('\n')}`)
  write(join(folder, 'llms.txt'), `${['# Pannier', `> ${description}`, ...lists].join('\n\n')}\n`)
  write(join(folder, 'llms-full.txt'), [...texts.values()].join('\n\n---\n\n'))
}

function lineOf(page: Page): string {
  const summary = summaryOf(page)
  return `- [${page.title}](${page.place})${summary === '' ? '' : `: ${summary}`}`
}

/** The page with links to pages as Markdown. */
function markdownOf({ path, place }: Page): string {
  const up = '../'.repeat(place.split('/').length - 1)
  return readText(path)
    .replace(/^<!--.*-->\n\n?/gm, '')
    .replace(/^(```[a-z]+) source="[^"]*"$/gm, '$1')
    .replace(/(?<!!)\[((?:[^[\]`]|`[^`]*`)*)\]\((?!\w+:|#)([^)\s]+)\)/g, (_, text: string, link: string) => {
      const target = targetOf(link, path, undefined)
      return target === undefined ? text : `[${text}](${up}${target.slice(1)})`
    })
}

/** The first sentence of the page. */
function summaryOf({ path }: Page): string {
  const [, text = ''] = withoutRegions(readText(path)).split(/^# .+\n+/m)
  const paragraph = text.split('\n\n').find((each) => /^[\w*[]/.test(each)) ?? ''
  const plain = paragraph
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*/g, '')
    .replace(/\s+/g, ' ')
  return (/^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain).replace(/:$/, '.')
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
