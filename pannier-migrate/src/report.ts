/** The report at the end: the moved parts, the parts left by hand, and the next command. */
import { lineAfter } from './diff.ts'
import { findingText } from './findings.ts'
import type { Migration } from './migrate.ts'
import { stateIn } from './state.ts'

const NAMES = { v1: '@modelcontextprotocol/sdk', v2: '@modelcontextprotocol/server', fastmcp: 'fastmcp' } as const

/** `written`: the line numbers refer to the new texts. */
export function leftText({ run, changes }: Migration, written: boolean): string {
  const texts = new Map(written ? changes.map((change) => [change.path, change]) : [])
  const all = run.project.findings.all.map((finding) => {
    const change = texts.get(finding.path)
    return change === undefined ? finding : { ...finding, line: lineAfter(change.before, change.after, finding.line) }
  })
  if (all.length === 0) return 'Nothing is left by hand.'
  return [`Left by hand (${all.length}):`, '', ...all.map(findingText), ''].join('\n')
}

export function summary(migration: Migration, written: boolean): string {
  const files = migration.changes.length
  const counted = `${countsText(migration)} in ${files} ${files === 1 ? 'file' : 'files'}`
  if (!written) return `Would move ${counted}. Nothing was written; --write does it.`
  return `Moved ${counted}. Next: npm install, your formatter, and the type check: npx tsc --noEmit`
}

function countsText({ run }: Migration): string {
  const { tools, prompts, resources, questions } = run.counts
  const parts = [many(tools, 'tool'), many(prompts, 'prompt'), many(resources, 'resource'), many(questions, 'question')]
  return parts.join(', ')
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** `init`: the parts of a server, and the necessary changes. */
export function initText(migration: Migration, folder: string): string {
  const { run, sdks } = migration
  const findings = run.project.findings.all
  const state = stateIn(run.project)
  const from = [...sdks].map((sdk) => NAMES[sdk]).join(', ')
  return [
    `Found a server of ${from}.`,
    '',
    `  moves by itself   ${countsText(migration)}`,
    `  left by hand      ${many(findings.length, 'place')}`,
    ...section(
      '  needs a session',
      findings.filter(isOfSession).map(({ path, line, what }) => `${path}:${line} ${what}`),
    ),
    ...section('  keeps state in the process', state),
    '',
    advice(migration, findings.length, state.length),
    '',
    `Next: npx pannier-migrate ${folder === '.' ? '' : `${folder} `}shows each change and each place that is left, and writes nothing.`,
  ].join('\n')
}

const SESSION =
  /sessionId|session in|authInfo|oninitialized|onclose|getClient|sendLoggingMessage|elicitInput|createMessage|listRoots|connecting to|in-?memory/i

function isOfSession({ what }: { what: string }): boolean {
  return SESSION.test(what)
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [`${title}   nothing that can be seen`]
  return [title, ...lines.map((line) => `    ${line}`)]
}

/** Which way is shorter: `pannier/sdk` keeps a server of version 2, and gives its tools that ask a journal. */
function advice({ run, sdks }: Migration, left: number, kept: number): string {
  const state =
    kept === 0
      ? ''
      : ' What is kept in the process must go to a store, or to a handle that the client passes, before a second instance runs.'
  const isV2 = sdks.size === 1 && sdks.has('v2')
  if (isV2 && left > run.counts.tools + run.counts.prompts + run.counts.resources)
    return `The shorter way: keep the SDK, and wrap the tools that ask with withJournal of pannier/sdk. More is left by hand than moves.${state}`
  return `The shorter way: move the server.${isV2 ? ' To change only the tools that ask, wrap them with withJournal of pannier/sdk.' : ''}${state}`
}
