import { parseArgs } from 'node:util'
import { isTemplate, TEMPLATE_NAMES, TEMPLATES, type TemplateName } from './templates.ts'

export interface Options {
  /** The folder of the project; asked for if it is missing. */
  folder?: string | undefined
  template?: TemplateName | undefined
  /** Whether missing options get defaults instead of questions. */
  yes: boolean
  install: boolean
  help: boolean
  version: boolean
}

const TEMPLATE_LINES = TEMPLATE_NAMES.map((name) => `  ${name.padEnd(9)} ${TEMPLATES[name].title}`)

export const USAGE = `Usage: npm create pannier [FOLDER] -- [OPTIONS]

Templates:
${TEMPLATE_LINES.join('\n')}

Options:
  --template NAME   what to make
  --yes             asks nothing: the folder is my-server and the template http, unless given
  --no-install      does not run npm install
  --version         prints the version
  --help            prints this`

const HINT = 'npm create pannier -- --help lists the options.'

/** Reads the command line. Throws a sentence for a person when it cannot be used. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args)
  const { template, yes = false, install = true, help = false, version = false } = values
  const [folder, ...more] = positionals
  if (more.length > 0) throw new Error(`One folder is enough; ${more.join(' ')} is too much. ${HINT}`)
  if (template !== undefined && !isTemplate(template)) {
    throw new Error(`There is no template ${template}. The templates are ${TEMPLATE_NAMES.join(', ')}.`)
  }
  return { folder, template, yes, install, help, version }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      allowNegative: true,
      options: {
        template: { type: 'string', short: 't' },
        yes: { type: 'boolean', short: 'y' },
        install: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
  } catch (error) {
    const [sentence] = String((error as Error).message).split('. ')
    throw new Error(`${sentence}. ${HINT}`, { cause: error })
  }
}
