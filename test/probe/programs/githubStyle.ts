/** The GitHub-style server: over HTTP with the argument http, else on standard input and output. */
import { serve } from '../serve.ts'
import { githubStyle } from '../seedServers.ts'

await serve({ open: () => githubStyle })
