import { NonRetryableException } from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';

/** Article that no catalogue lists at first. Its records become dead letters. */
export const UNKNOWN_ARTICLE = 'teleporter';

export class UnknownArticleException extends NonRetryableException {}

/** Knows the articles. A record that names another one cannot be handled until it is added. */
@Injectable()
export class Catalogue {
  readonly #articles = new Set(['lamp', 'chair', 'table', 'shelf', 'sofa']);

  get articles(): readonly string[] {
    return [...this.#articles];
  }

  add(article: string): void {
    this.#articles.add(article);
  }

  lists(article: string): boolean {
    return this.#articles.has(article);
  }

  require(article: string): void {
    if (!this.lists(article))
      throw new UnknownArticleException('The catalogue does not list the article.');
  }
}
