import { createInterface, type Interface } from 'node:readline/promises'
import type { Options } from './options.ts'
import { assertEmpty } from './project.ts'
import { isTemplate, TEMPLATE_NAMES, TEMPLATES, type TemplateName } from './templates.ts'

const DEFAULT_FOLDER = 'my-server'
const DEFAULT_TEMPLATE: TemplateName = 'http'

/** The person pressed Ctrl-C or Ctrl-D at a question. */
export class Cancelled extends Error {}

export interface Choice {
  folder: string
  template: TemplateName
}

/** Asks at the terminal for options that the command line lacks. */
export async function askMissing({ folder, template, yes }: Options): Promise<Choice> {
  if (folder !== undefined) assertEmpty(folder)
  if (yes) return { folder: folder ?? DEFAULT_FOLDER, template: template ?? DEFAULT_TEMPLATE }
  if (folder !== undefined && template !== undefined) return { folder, template }
  if (!process.stdin.isTTY) {
    throw new Error('There is no terminal to ask at. Give a folder and --template NAME, or --yes for the defaults.')
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return { template: template ?? (await askTemplate(terminal)), folder: folder ?? (await askFolder(terminal)) }
  } finally {
    terminal.close()
  }
}

async function askTemplate(terminal: Interface): Promise<TemplateName> {
  const lines = TEMPLATE_NAMES.map((name, index) => `  ${index + 1}  ${name.padEnd(9)} ${TEMPLATES[name].title}`)
  console.error(['What do you build?', ...lines].join('\n'))
  for (;;) {
    const answer = (await ask(terminal, 'Number or name (1): ')) || DEFAULT_TEMPLATE
    const name = TEMPLATE_NAMES[Number(answer) - 1] ?? answer
    if (isTemplate(name)) return name
    console.error(`Answer with a number from 1 to ${TEMPLATE_NAMES.length}, or with a name.`)
  }
}

async function askFolder(terminal: Interface): Promise<string> {
  for (;;) {
    const folder = (await ask(terminal, `Folder (${DEFAULT_FOLDER}): `)) || DEFAULT_FOLDER
    try {
      assertEmpty(folder)
      return folder
    } catch (error) {
      console.error((error as Error).message)
    }
  }
}

/** One line of the person. */
async function ask(terminal: Interface, question: string): Promise<string> {
  try {
    return (await terminal.question(question)).trim()
  } catch (error) {
    console.error()
    throw new Cancelled('Nothing was made.', { cause: error })
  }
}
