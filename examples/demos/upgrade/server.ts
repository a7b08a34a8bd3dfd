/** SEP-2322's rolling upgrade: version 1 asks for two logins, version 2 for one of them and a new one. */
import { createServer } from 'pannier/server'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const { INSTANCE: instance, VERSION: version = '1' } = process.env
const server = createServer({ name: 'logins', version: `${version}.0.0`, title: `Instance ${instance}` })
const schema = z.object({ name: z.string() })

function login(site: string) {
  return { message: `Please provide your ${site} username`, schema }
}

const forms: Record<string, () => Record<string, ReturnType<typeof login>>> = {
  1: () => ({ github_login: login('GitHub'), google_login: login('Google') }),
  2: () => ({ github_login: login('GitHub'), microsoft_login: login('Microsoft') }),
  // The same keys as version 1, another order, and one question in new words.
  3: () => ({ google_login: login('Google Workspace'), github_login: login('GitHub') }),
}

server.tool('find_accounts', { description: 'Finds the accounts of a person.' }, async (_, ctx) => {
  const answers = await ctx.ask(forms[version]!())
  return Object.entries(answers)
    .map(([key, { name }]) => `${key}=${name}`)
    .toSorted()
    .join(' ')
})

await listenAsInstance(server)
