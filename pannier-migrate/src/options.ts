import { parseArgs } from 'node:util'

export interface Options {
  readonly command: 'migrate' | 'init'
  readonly folder: string
  /** Whether files are written; otherwise the difference is printed. */
  readonly write: boolean
  /** Whether files are written also if git has changes that are not committed. */
  readonly force: boolean
  readonly help: boolean
  readonly version: boolean
}

export const USAGE = `Usage: npx pannier-migrate [FOLDER] [OPTIONS]
       npx pannier-migrate init [FOLDER]

Moves an MCP server to Pannier from @modelcontextprotocol/sdk, @modelcontextprotocol/server or fastmcp. FOLDER has the
package.json of the server. Without options it prints what would change and writes nothing.

Commands:
  init        says what the server has, what keeps it to one process, and which way is the shorter one

Options:
  --write     writes the files; refuses if git has uncommitted changes
  --force     writes even then
  --dry-run   prints what would change; the default
  --version   prints the version
  --help      prints this`

const HINT = 'npx pannier-migrate --help lists the options.'

/** Reads the command line. Throws a sentence for a person when it cannot be used. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args)
  const { write = false, force = false, help = false, version = false } = values
  const command = positionals[0] === 'init' ? 'init' : 'migrate'
  const [folder = '.', ...more] = command === 'init' ? positionals.slice(1) : positionals
  if (more.length > 0) throw new Error(`One folder is enough; ${more.join(' ')} is too much. ${HINT}`)
  if (write && values['dry-run']) throw new Error(`--write and --dry-run exclude each other. ${HINT}`)
  return { command, folder, write, force, help, version }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        write: { type: 'boolean', short: 'w' },
        force: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
  } catch (error) {
    const [sentence] = String((error as Error).message).split('. ')
    throw new Error(`${sentence}. ${HINT}`, { cause: error })
  }
}
