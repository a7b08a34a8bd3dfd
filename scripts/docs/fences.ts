import type { Texts } from '../repository.ts'

/** One fenced block of a page. */
interface Fence {
  open: string
  language: string
  /** `path` or `path#region`, from `source="…"`. */
  source: string | undefined
  body: string
  line: number
}

const fencePattern = /^(?<open>```(?<language>\w*)[^\n]*)\n(?<body>[^]*?)^```$/gm
const needsSource = new Set(['ts', 'tsx', 'typescript', 'js', 'jsx', 'javascript', 'mjs'])

export function readFences(page: string): Fence[] {
  return [...page.matchAll(fencePattern)].map(({ groups, index }) => {
    const { open = '', language = '', body = '' } = groups ?? {}
    const line = page.slice(0, index).split('\n').length
    return { open, language, body, line, source: /\bsource="([^"]+)"/.exec(open)?.[1] }
  })
}

/** The page with every sourced fence filled from its file. */
export function fillFences(page: string, read: (path: string) => string | undefined): string {
  return page.replace(fencePattern, (whole, open: string) => {
    const source = /\bsource="([^"]+)"/.exec(open)?.[1]
    return source === undefined ? whole : `${open}\n${readSource(source, read)}\n\`\`\``
  })
}

/** The text of `path` or of the region in `path#region`, without its common indentation. */
function readSource(source: string, read: (path: string) => string | undefined): string {
  const [path = '', region] = source.split('#')
  const text = read(path)
  if (text === undefined) throw new Error(`source="${source}": there is no file ${path}.`)
  if (region === undefined) return text.trimEnd()
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`)
  const end = lines.findIndex((line) => line.trim() === `// #endregion ${region}`)
  if (start < 0 || end < start) {
    throw new Error(`source="${source}": ${path} has no // #region ${region} with its // #endregion ${region}.`)
  }
  const body = lines.slice(start + 1, end).filter((line) => !/^\s*\/\/ #(end)?region\b/.test(line))
  const indents = body.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length)
  const indent = Math.min(...indents)
  return body.map((line) => line.slice(indent)).join('\n')
}

/** Code without a source, stale fences, and sources that no test runs. */
export function fenceProblems(pages: Texts, tests: Texts, read: (path: string) => string | undefined): string[] {
  const problems: string[] = []
  for (const [path, page] of pages) {
    const indented = [...page.matchAll(/^[ \t]+```(\w+)/gm)].filter((match) => needsSource.has(match[1] ?? ''))
    problems.push(
      ...indented.map((match) => `${path}: an indented ${match[1]} fence cannot be checked; start it at the margin.`),
    )
    for (const fence of readFences(page)) {
      problems.push(...oneFence(fence, tests, read).map((problem) => `${path}:${fence.line}: ${problem}`))
    }
  }
  return problems
}

function oneFence(fence: Fence, tests: Texts, read: (path: string) => string | undefined): string[] {
  const { language, source, body, open } = fence
  if (source === undefined) {
    return needsSource.has(language) ? [`a ${language} fence needs source="path#region", so that it is run.`] : []
  }
  const path = source.split('#')[0] ?? ''
  const problems: string[] = []
  if (!/^(examples|docs\/snippets)\//.test(path)) problems.push(`${path} must lie in examples/ or docs/snippets/.`)
  if (![...tests.values()].some((text) => text.includes(path)))
    problems.push(`no test names ${path}, so nothing runs it.`)
  try {
    const filled = fillFences(`${open}\n${body}\`\`\`\n`, read)
    if (filled !== `${open}\n${body}\`\`\`\n`) problems.push(`differs from ${source}; run npm run docs.`)
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
  }
  return problems
}
