/** As much of a browser as signing in needs: redirects, cookies and forms. */

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

export class Browser {
  readonly #fetch: typeof fetch
  readonly #onVisit: (method: string, url: URL, answer: Response) => void
  readonly #application: string
  #cookies: Cookie[] = []

  /** `application` is the redirect URI of who reads the answers: it is reached, but not visited. */
  constructor(
    send: typeof fetch,
    onVisit: (method: string, url: URL, answer: Response) => void,
    application: string,
  ) {
    this.#fetch = send
    this.#onVisit = onVisit
    this.#application = application
  }

  /** Opens a page, or posts a form to it, follows the redirects, and answers where that leads. */
  async visit(start: URL, form?: Readonly<Record<string, string>>): Promise<URL> {
    let url = start
    let body = form && new URLSearchParams(form)
    for (;;) {
      const method = body ? 'POST' : 'GET'
      const headers = { cookie: this.#cookiesFor(url) }
      const answer = await this.#fetch(url, { method, headers, body, redirect: 'manual' })
      this.#onVisit(method, url, answer)
      for (const line of answer.headers.getSetCookie()) this.#keep(line)
      const location = answer.headers.get('location')
      if (!answer.ok && !location) throw new Error(`${url.pathname} answered ${answer.status}`)
      if (!location) return url
      url = new URL(location, url)
      body = undefined
      if (url.origin + url.pathname === this.#application) return url
    }
  }

  #cookiesFor({ pathname }: URL): string {
    const sent = this.#cookies.filter(({ path }) => pathname.startsWith(path))
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    const path = /; *path=([^;]*)/i.exec(line)?.[1] ?? '/'
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path)
    // An empty value is how the provider deletes a cookie.
    if (value) this.#cookies.push({ name, value, path })
  }
}
