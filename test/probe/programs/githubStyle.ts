/** The GitHub-style server: over HTTP with the argument http, else on standard input and output. */
import { serve } from '../fixtures/serve.ts'
import { githubStyle } from '../fixtures/seedServers.ts'

await serve({ open: () => githubStyle })
