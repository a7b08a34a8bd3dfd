/** The frame of the console: who looks, the pages, and the one that is open. */
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleVisitor } from '../gateway/internal.ts'
import { linkTo, readHash } from './address.ts'
import { me, RefusedRequest, sentenceOf } from './api.ts'
import { FIRST_PAGE, PAGES } from './routes.ts'

const AGAIN_MS = 1500

function Console() {
  const [name = FIRST_PAGE, ...path] = useHash()
  const { visitor, trouble, hasLogin = false } = useVisitor()
  const main = useRef<HTMLElement>(null)
  const route = PAGES.get(name)
  const title = route?.title ?? 'No such page'
  useEffect(() => {
    document.title = `${title} · Pannier console`
    main.current?.scrollTo(0, 0)
  }, [title])
  const Page = route?.page
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => focusOn(event, main.current)}>
        To the content
      </a>
      <header>
        <a class="brand" href={linkTo(FIRST_PAGE)}>
          <img src={icon} alt="" width="22" height="22" /> Pannier
        </a>
        <nav aria-label="Pages">
          {[...PAGES].map(([key, each]) => (
            <a key={key} href={linkTo(key)} aria-current={key === name ? 'page' : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        {visitor && (
          <p class="visitor">
            {visitor.name} <span class="tag">{visitor.role}</span>
          </p>
        )}
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {trouble !== undefined && (
          <div class="notice" role="alert">
            <h1>The console is closed</h1>
            <p>{trouble}</p>
            {hasLogin && (
              <p>
                <a class="button" href="/console/login">
                  Log in
                </a>
              </p>
            )}
          </div>
        )}
        {visitor && Page && <Page path={path} visitor={visitor} />}
        {visitor && !Page && (
          <div class="notice">
            <h1>No such page</h1>
            <p>
              <a href={linkTo(FIRST_PAGE)}>To the overview</a>
            </p>
          </div>
        )}
      </main>
    </div>
  )
}

function useHash(): readonly string[] {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = () => setHash(location.hash)
    addEventListener('hashchange', changed)
    changed() // it may have changed since the first rendering
    return () => removeEventListener('hashchange', changed)
  }, [])
  return readHash(hash)
}

interface VisitorState {
  readonly visitor?: ConsoleVisitor
  readonly trouble?: string
  readonly hasLogin?: boolean
}

function useVisitor(): VisitorState {
  const [state, setState] = useState<VisitorState>({})
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const ask = () =>
      void me().then(
        (visitor) => setState({ visitor }),
        (error: unknown) => {
          setState({ trouble: sentenceOf(error), hasLogin: error instanceof RefusedRequest && error.hasLogin })
          timer = setTimeout(ask, AGAIN_MS)
        },
      )
    ask()
    return () => clearTimeout(timer)
  }, [])
  return state
}

/** The hash is the page, so that the link moves the focus alone. */
function focusOn(event: Event, element: HTMLElement | null): void {
  event.preventDefault()
  element?.focus()
}

const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? ''
const root = document.getElementById('console')
if (root !== null) render(<Console />, root)
